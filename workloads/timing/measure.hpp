// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <functional>
#include <vector>

#include "collectives/execute/plan/plan.hpp"
#include "results/records/point.hpp"
#include "workloads/timing/energy_counter.hpp"
#include "workloads/timing/global_clock.hpp"
#include "workloads/timing/turns.hpp"

namespace tutti {

/// When to start a call, and when to stop repeating it.
struct Protocol {
    /// automatic: deadline where each rank has a core, and on several hosts with `clock`, unless
    /// most calls come late or the clocks differ by more than a tenth of a call; back_to_back on
    /// one oversubscribed host. back_to_back becomes barrier on several hosts, and where something
    /// is to be done before each call.
    enum class Sync { automatic, deadline, barrier, back_to_back } sync = Sync::automatic;
    double target_ci = 0.025;  ///< this and what follows: see StoppingRule
    double max_seconds = 0.2;  ///< for the batches of one trial at one point
    std::int64_t min_samples = 20;
    std::int64_t max_samples = 10000;
    std::int64_t fixed_samples = 0;
    std::int64_t warm_up_calls = 3;  ///< at least; and for `warm_up_ns`, unless they are 0
    std::int64_t warm_up_ns = 1'000'000;
    double batch_seconds = 0.001;             ///< a batch lasts about so long
    std::int64_t most_calls_of_batch = 1000;  ///< before the next trial's batch
    GlobalClock* clock = nullptr;             ///< of several hosts, for deadlines; else unused
    const HostMeters* meters = nullptr;       ///< of energy; null: it is not counted
    bool shuffle = true;  ///< random order in each round, by the seed; else as given
    std::uint64_t seed = 1;
};

/// One operation that takes part in a point, with what it needs to be checked. All calls
/// collective.
struct Trial {
    Operation* operation = nullptr;
    /// Fresh input for check number `seed` and a spoilt output; empty: nothing is checked.
    std::function<void(std::uint64_t seed)> prepare;
    /// Elements of this rank's result that are wrong after `prepare(seed)` and calls.
    std::function<std::int64_t(std::uint64_t seed)> count_wrong;
    /// Before each timed call, outside of its time; it leaves the input's values as they are.
    std::function<void()> before_call = {};
    /// One run of the operation is so many calls, one after the other (see repeat_on_devices).
    std::int64_t calls_of_run = 1;
    /// Repeated calls leave the input as it was (not so in place).
    bool keeps_input = true;
};

/// Times all trials against each other: rounds of short batches in changing order, until each has
/// finished by its StoppingRule. The time of a call is the slowest rank's. The first call and the
/// last batch of each trial are checked with data of their own. Collective; the same result on all
/// ranks.
std::vector<Measured> measure(World& world, std::vector<Trial>& trials, const Protocol& protocol);

/// What a trial by turns has measured, and the turn that ended it.
struct MeasuredInTurns {
    Measured measured;
    Turn last;
};

/// One trial in blocks, each in a turn of its own, as many as the other job's side asks for. Calls
/// are checked as in measure(); only `check` and the start of calls are filled in. The caller says
/// that the trial has ended, or goes on with another one where the last turn is to renew it.
/// Collective.
MeasuredInTurns measure_in_turns(World& world, Trial& trial, const Protocol& protocol,
                                 Turns& turns);

}  // namespace tutti
