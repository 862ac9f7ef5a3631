// SPDX-License-Identifier: Apache-2.0
#include "workloads/steps/measure_steps.hpp"

#include <algorithm>
#include <random>

#include "base/clock.hpp"
#include "results/statistics/statistics.hpp"

namespace tutti {
namespace {

TrainingStep summary_of(const StepSamples& samples) {
    TrainingStep sum;
    sum.step = summarise(samples.step);
    sum.compute = summarise(samples.compute);
    sum.communication = summarise(samples.communication);
    sum.exposed = summarise(samples.exposed);
    sum.computing = summarise(samples.computing);
    sum.wait = summarise(samples.wait);
    sum.work = summarise(samples.work);
    derive(sum);
    return sum;
}

class Rounds {
public:
    Rounds(World& world, const std::vector<RunStep>& methods, const StepProtocol& protocol)
        : world_(world), methods_(methods), protocol_(protocol), series_(protocol.earlier) {
        series_.resize(methods.size());
        if (!series_.empty())
            earlier_rounds_ = from_rank0(world, static_cast<std::int64_t>(series_[0].step.size()));
    }

    std::vector<TrainingStep> run() {
        for (std::int64_t i = 0; i < protocol_.warm_up; ++i) {
            do_round(false);
            report(0, 0);
        }
        const std::int64_t began = now_ns();
        const auto seconds = [&] { return static_cast<double>(now_ns() - began) * 1e-9; };
        for (std::int64_t round = earlier_rounds_ + 1; round <= protocol_.max_rounds; ++round) {
            do_round(true);
            report(round, seconds());
            report_partial(seconds());
            const bool is_over = seconds() > protocol_.max_seconds || is_known_well_enough();
            if (round >= protocol_.min_rounds && from_rank0(world_, is_over)) break;
        }
        std::vector<TrainingStep> steps;
        for (const StepSamples& one : series_) {
            steps.push_back(summary_of(one));
            if (protocol_.keep_samples)
                steps.back().samples = {
                    .step = one.step, .compute = one.compute, .exposed = one.exposed};
        }
        return steps;
    }

private:
    struct Measurement {
        std::size_t method;
        StepPart part;
    };

    StepTimes times(const Measurement& measurement) {
        world_.barrier();
        const StepStamps mine = methods_[measurement.method](measurement.part, number_);
        return times_of(world_, world_.one_host() ? nullptr : protocol_.clock, mine);
    }

    void report(std::int64_t rounds, double seconds) const {
        if (protocol_.after_round) protocol_.after_round(rounds, seconds);
    }

    void report_partial(double seconds) {
        if (!protocol_.so_far || seconds < next_partial_) return;
        next_partial_ = std::max(1.0, 1.5 * seconds);
        std::vector<TrainingStep> steps;
        for (const StepSamples& one : series_) {
            steps.push_back(summary_of(one));
            steps.back().samples = one;
            steps.back().is_partial = true;
        }
        protocol_.so_far(std::move(steps));
    }

    void do_round(bool counts) {
        if (protocol_.clock != nullptr && !world_.one_host()) protocol_.clock->refresh();
        std::vector<Measurement> measurements;
        for (std::size_t method = 0; method < methods_.size(); ++method)
            measurements.insert(measurements.end(),
                                {{method, StepPart::whole}, {method, StepPart::communication}});
        if (!methods_.empty()) measurements.push_back({0, StepPart::compute});
        std::ranges::shuffle(measurements, random_);
        std::vector<StepTimes> whole(methods_.size()), communication(methods_.size());
        StepTimes compute;
        for (const Measurement& measurement : measurements) {
            const StepTimes seen = times(measurement);
            if (measurement.part == StepPart::compute)
                compute = seen;
            else
                (measurement.part == StepPart::whole ? whole : communication)[measurement.method] =
                    seen;
        }
        ++number_;
        for (std::size_t method = 0; counts && method < methods_.size(); ++method) {
            StepSamples& series = series_[method];
            series.step.push_back(whole[method].step);
            series.compute.push_back(compute.step);
            series.communication.push_back(communication[method].step);
            series.exposed.push_back(whole[method].step - compute.step);
            series.computing.push_back(whole[method].compute);
            series.wait.push_back(whole[method].wait);
            series.work.push_back(whole[method].work);
        }
    }

    bool is_known_well_enough() const {
        return std::ranges::all_of(series_, [&](const StepSamples& one) {
            const TrainingStep now = summary_of(one);
            return half_width(now.step) <= protocol_.target_ci &&
                   half_width_of_exposed(now) <= protocol_.target_ci;
        });
    }

    World& world_;
    const std::vector<RunStep>& methods_;
    const StepProtocol& protocol_;
    std::vector<StepSamples> series_;  // with what an interrupted run has seen, on rank 0
    std::int64_t earlier_rounds_ = 0;
    double next_partial_ = 0;                 // seconds
    std::mt19937_64 random_{protocol_.seed};  // the same on all ranks
    std::int64_t number_ = 0;
};

}  // namespace

std::vector<TrainingStep> measure_steps(World& world, const std::vector<RunStep>& methods,
                                        const StepProtocol& protocol) {
    return Rounds(world, methods, protocol).run();
}

}  // namespace tutti
