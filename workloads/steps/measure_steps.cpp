// SPDX-License-Identifier: Apache-2.0
#include "workloads/steps/measure_steps.hpp"

#include <algorithm>
#include <random>

#include "base/clock.hpp"
#include "results/statistics.hpp"

namespace tutti {
namespace {

// The samples of a method, round by round.
struct Series {
    std::vector<std::int64_t> step, compute, communication, exposed, computing, wait, work;

    TrainingStep summary() const {
        TrainingStep sum;
        sum.step = summarise(step);
        sum.compute = summarise(compute);
        sum.communication = summarise(communication);
        sum.exposed = summarise(exposed);
        sum.computing = summarise(computing);
        sum.wait = summarise(wait);
        sum.work = summarise(work);
        derive(sum);
        return sum;
    }
};

class Rounds {
public:
    Rounds(World& world, const std::vector<RunStep>& methods, const StepProtocol& protocol)
        : world_(world), methods_(methods), protocol_(protocol), series_(methods.size()) {}

    std::vector<TrainingStep> run() {
        for (std::int64_t i = 0; i < protocol_.warm_up; ++i) {
            do_round(false);
            report(0, 0);
        }
        const std::int64_t began = now_ns();
        const auto seconds = [&] { return static_cast<double>(now_ns() - began) * 1e-9; };
        for (std::int64_t round = 1; round <= protocol_.max_rounds; ++round) {
            do_round(true);
            report(round, seconds());
            const bool is_over = seconds() > protocol_.max_seconds || is_known_well_enough();
            if (round >= protocol_.min_rounds && from_rank0(world_, is_over)) break;
        }
        std::vector<TrainingStep> steps;
        for (const Series& one : series_) {
            steps.push_back(one.summary());
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
            Series& series = series_[method];
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
        return std::ranges::all_of(series_, [&](const Series& one) {
            const TrainingStep now = one.summary();
            return half_width(now.step) <= protocol_.target_ci &&
                   half_width_of_exposed(now) <= protocol_.target_ci;
        });
    }

    World& world_;
    const std::vector<RunStep>& methods_;
    const StepProtocol& protocol_;
    std::vector<Series> series_;
    std::mt19937_64 random_{protocol_.seed};  // the same on all ranks
    std::int64_t number_ = 0;
};

}  // namespace

std::vector<TrainingStep> measure_steps(World& world, const std::vector<RunStep>& methods,
                                        const StepProtocol& protocol) {
    return Rounds(world, methods, protocol).run();
}

}  // namespace tutti
