// SPDX-License-Identifier: Apache-2.0
#include "workloads/steps/measure_steps.hpp"

#include <algorithm>
#include <random>

#include "base/clock.hpp"
#include "results/statistics.hpp"

namespace tutti {
namespace {

// What was seen of a way, round by round.
struct Series {
    std::vector<std::int64_t> step, compute, communication, exposed, computing, wait, work;

    TrainingStep summed_up() const {
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
    Rounds(World& world, const std::vector<StepDoer>& ways, const StepProtocol& protocol)
        : world_(world), ways_(ways), protocol_(protocol), series_(ways.size()) {}

    std::vector<TrainingStep> run() {
        for (std::int64_t i = 0; i < protocol_.warm_up; ++i) {
            do_round(false);
            tell(0, 0);
        }
        const std::int64_t began = now_ns();
        const auto seconds = [&] { return static_cast<double>(now_ns() - began) * 1e-9; };
        for (std::int64_t round = 1; round <= protocol_.max_rounds; ++round) {
            do_round(true);
            tell(round, seconds());
            const bool is_over = seconds() > protocol_.max_seconds || is_known_well_enough();
            if (round >= protocol_.min_rounds && from_rank0(world_, is_over)) break;
        }
        std::vector<TrainingStep> steps;
        for (const Series& one : series_) {
            steps.push_back(one.summed_up());
            if (protocol_.keep_samples)
                steps.back().samples = {
                    .step = one.step, .compute = one.compute, .exposed = one.exposed};
        }
        return steps;
    }

private:
    struct Turn {
        std::size_t way;
        StepPart part;
    };

    StepTimes times(const Turn& turn) {
        world_.barrier();
        const StepStamps mine = ways_[turn.way](turn.part, number_);
        return times_of(world_, world_.one_host() ? nullptr : protocol_.clock, mine);
    }

    void tell(std::int64_t rounds, double seconds) const {
        if (protocol_.after_round) protocol_.after_round(rounds, seconds);
    }

    void do_round(bool counts) {
        if (protocol_.clock != nullptr && !world_.one_host()) protocol_.clock->refresh();
        std::vector<Turn> turns;
        for (std::size_t way = 0; way < ways_.size(); ++way)
            turns.insert(turns.end(), {{way, StepPart::whole}, {way, StepPart::communication}});
        if (!ways_.empty()) turns.push_back({0, StepPart::compute});
        std::ranges::shuffle(turns, random_);
        std::vector<StepTimes> whole(ways_.size()), alone(ways_.size());
        StepTimes compute;
        for (const Turn& turn : turns) {
            const StepTimes seen = times(turn);
            if (turn.part == StepPart::compute)
                compute = seen;
            else
                (turn.part == StepPart::whole ? whole : alone)[turn.way] = seen;
        }
        ++number_;
        for (std::size_t way = 0; counts && way < ways_.size(); ++way) {
            Series& series = series_[way];
            series.step.push_back(whole[way].step);
            series.compute.push_back(compute.step);
            series.communication.push_back(alone[way].step);
            series.exposed.push_back(whole[way].step - compute.step);
            series.computing.push_back(whole[way].compute);
            series.wait.push_back(whole[way].wait);
            series.work.push_back(whole[way].work);
        }
    }

    bool is_known_well_enough() const {
        return std::ranges::all_of(series_, [&](const Series& one) {
            const TrainingStep now = one.summed_up();
            return half_width(now.step) <= protocol_.target_ci &&
                   half_width_of_exposed(now) <= protocol_.target_ci;
        });
    }

    World& world_;
    const std::vector<StepDoer>& ways_;
    const StepProtocol& protocol_;
    std::vector<Series> series_;
    std::mt19937_64 random_{protocol_.seed};  // the same on all ranks
    std::int64_t number_ = 0;
};

}  // namespace

std::vector<TrainingStep> measure_steps(World& world, const std::vector<StepDoer>& ways,
                                        const StepProtocol& protocol) {
    return Rounds(world, ways, protocol).run();
}

}  // namespace tutti
