// SPDX-License-Identifier: Apache-2.0
#include <alloca.h>

#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "workloads/bench/sweep.hpp"
#include "workloads/bench/sweep_points.hpp"

namespace tutti {
namespace {

// Where a trial runs: offsets from cache line to cache line within a page. Place 0 has none.
struct Place {
    BufferOffsets buffers;
    std::size_t heap;
    std::size_t stack;
};

// Spreads each offset evenly over the lines by a factor of its own that has none in common with
// their number. Both jobs of a comparison and all ranks have the same offsets at the same number,
// so they are no part of the difference.
Place place_of(std::size_t number) {
    constexpr std::size_t line = 64, lines = 64;
    const auto offset = [&](std::size_t factor) { return number * factor % lines * line; };
    return {{.both = offset(55), .output = offset(47)}, offset(41), offset(35)};
}

// Calls `run` on a stack that begins further down.
[[gnu::noinline]] Turn on_moved_stack(std::size_t bytes, const std::function<Turn()>& run) {
    void* const gap = alloca(bytes + 1);
    asm volatile("" ::"r"(gap) : "memory");  // keeps the compiler from leaving it out
    return run();
}

class SweepByTurns {
public:
    SweepByTurns(Planner& planner, const Sweep& sweep, Turns& turns)
        : points_(planner, sweep), world_(planner.world()), sweep_(sweep), turns_(turns) {}

    void run() {
        for (const SweptCall& swept : calls_of(sweep_, world_.size())) {
            pool_ = new_pool(swept, place_of(0));
            const std::vector<BufferKind> kinds = pool_->kinds();
            for (const BufferKind kind : kinds)
                for (const bool in_place : sweep_.in_place) {
                    ++point_number_;
                    for (const Candidate& candidate : sweep_.candidates)
                        measure(candidate, {swept, in_place, kind});
                }
        }
    }

private:
    std::unique_ptr<BufferPool> new_pool(const SweptCall& swept, const Place& place) const {
        return std::make_unique<BufferPool>(points_.pool_for({&swept, 1}, place.buffers));
    }

    PooledBuffers buffers(const CommonPoint& common) const {
        return pool_->buffers_for(common.swept.call, common.in_place, common.kind);
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
        measure_in_places(candidate, common, protocol, n_wrong);
        turns_.ended(n_wrong);
    }

    // Runs until the trial has enough blocks. What a place in memory makes faster or slower would
    // otherwise last for the launch: the pages and offsets of buffers, the plan, and the stack. The
    // new ones are made before the old ones are freed, which might give the same memory.
    void measure_in_places(const Candidate& candidate, const CommonPoint& common,
                           Protocol& protocol, std::int64_t& n_wrong) {
        CandidateTrial made = points_.trial_at(candidate, common, buffers(common));
        std::vector<std::byte> gap_in_heap;
        for (std::size_t number = 0;;) {
            const Turn turn = on_moved_stack(
                place_of(number).stack, [&] { return measure_blocks(made, protocol, n_wrong); });
            std::unique_ptr<BufferPool> old_pool;
            if (turn == Turn::start_at_barriers) {
                protocol.sync = Protocol::Sync::barrier;
            } else if (turn == Turn::renew) {
                const Place place = place_of(++number);
                old_pool = std::exchange(pool_, new_pool(common.swept, place));
                gap_in_heap = std::vector<std::byte>(place.heap);
            } else {
                return;
            }
            made = points_.trial_at(candidate, common, buffers(common));
        }
    }

    // Runs until another kind of turn comes, and returns that turn.
    Turn measure_blocks(CandidateTrial& made, const Protocol& protocol, std::int64_t& n_wrong) {
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
