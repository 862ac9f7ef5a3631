// SPDX-License-Identifier: Apache-2.0
#include <memory>

#include "workloads/bench/sweep.hpp"
#include "workloads/bench/sweep_points.hpp"

namespace tutti {
namespace {

class SweepByTurns {
public:
    SweepByTurns(Planner& planner, const Sweep& sweep, Turns& turns)
        : points_(planner, sweep), world_(planner.world()), sweep_(sweep), turns_(turns) {}

    void run() {
        for (const Call& call : calls_of(sweep_, world_.size())) {
            renew_memory(call);
            const std::vector<BufferKind> kinds = pool_->kinds();
            for (const BufferKind kind : kinds)
                for (const bool in_place : sweep_.in_place) {
                    ++point_number_;
                    for (const Candidate& candidate : sweep_.candidates)
                        measure(candidate, {call, in_place, kind});
                }
        }
    }

private:
    // Allocates the new pool before freeing the old one, which might give the same memory.
    void renew_memory(const Call& call) {
        pool_ = std::make_unique<BufferPool>(points_.pool_for({call}));
    }

    PooledBuffers buffers(const CommonPoint& common) const {
        return pool_->buffers_for(common.call, common.in_place, common.kind);
    }

    void measure(const Candidate& candidate, const CommonPoint& common) {
        const Key key = points_.blank_point(candidate, common).key;
        const std::int64_t trial_number = trial_number_++;
        if (const auto reason = points_.reason_to_skip(candidate, common, buffers(common)))
            return turns_.skipped(trial_number, key, *reason);
        Turn turn = turns_.ready(trial_number, key);
        if (turn == Turn::skip) return;
        std::int64_t n_wrong = 0;
        Protocol protocol = sweep_.protocol;
        protocol.seed += point_number_;
        for (;;) {
            turn = measure_blocks(candidate, common, protocol, n_wrong);
            if (turn == Turn::start_at_barriers)
                protocol.sync = Protocol::Sync::barrier;
            else if (turn == Turn::renew)
                renew_memory(common.call);
            else
                break;
        }
        turns_.ended(n_wrong);
    }

    // Runs in the current memory until another kind of turn comes, and returns that turn.
    Turn measure_blocks(const Candidate& candidate, const CommonPoint& common,
                        const Protocol& protocol, std::int64_t& n_wrong) {
        CandidateTrial made = points_.trial_at(candidate, common, buffers(common));
        const auto [measured, turn] = measure_in_turns(world_, made.trial, protocol, turns_);
        std::vector<Point> alone(1);
        alone[0].measured = measured;
        if (made.chosen.operation->left_over()) ++alone[0].measured.check.n_wrong;
        points_.agree_on_failures(alone);
        n_wrong += alone[0].measured.check.n_wrong;
        return turn;
    }

    const SweepPoints points_;
    World& world_;
    const Sweep& sweep_;
    Turns& turns_;
    std::unique_ptr<BufferPool> pool_;
    std::uint64_t point_number_ = 0;  // from 1
    std::int64_t trial_number_ = 0;   // among all trials, including skipped ones
};

}  // namespace

void run_sweep_by_turns(Planner& planner, const Sweep& sweep, Turns& turns) {
    SweepByTurns(planner, sweep, turns).run();
}

}  // namespace tutti
