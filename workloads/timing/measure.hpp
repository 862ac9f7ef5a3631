// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "collectives/execute/plan/plan.hpp"
#include "results/records/point.hpp"
#include "workloads/timing/batch_counters.hpp"
#include "workloads/timing/global_clock.hpp"
#include "workloads/timing/turns.hpp"

namespace tutti {

/// Whether a call finds its input where the previous call left it in the caches, or just written by
/// its owner, as gradients are in training.
enum class InputState { untouched, rewritten };

/// Protocol of a measurement: how calls start, and when to stop repeating them.
struct Protocol {
    /// automatic: deadline if each rank has a core, and on several hosts with `clock`, unless most
    /// calls come late or the clocks differ by more than a tenth of a sample; back_to_back on one
    /// oversubscribed host. back_to_back becomes barrier if something must be done before each
    /// call, and on several hosts without `clock`, if clocks differ by over a tenth of a sample, or
    /// in measure_in_turns().
    enum class Sync { automatic, deadline, barrier, back_to_back } sync = Sync::automatic;
    double target_ci = 0.025;  ///< see StoppingRule for this and the next four
    double max_seconds = 0.2;  ///< for the batches of one trial at one point
    std::int64_t min_samples = 20;
    std::int64_t max_samples = 10000;
    std::int64_t fixed_samples = 0;
    std::int64_t warm_up_calls = 3;  ///< at least, and during `warm_up_ns`, unless both are 0
    std::int64_t warm_up_ns = 1'000'000;
    std::int64_t sample_ns = 500'000;         ///< intended length of a sample of back_to_back
    double batch_seconds = 0.001;             ///< intended length of a batch
    std::int64_t most_calls_of_batch = 1000;  ///< before the next trial's batch
    GlobalClock* clock = nullptr;             ///< on several hosts, unless calls start at barriers
    const HostMeters* meters = nullptr;       ///< for energy; null: it is not counted
    bool shuffle = true;  ///< random order in each round, by the seed; else as given
    std::uint64_t seed = 1;
};

/// A program next to the ranks that runs only during the batches of some trials. Both functions are
/// collective.
struct Disturbance {
    std::string name;
    std::function<void()> begin;
    std::function<void()> end;
};

/// One operation that takes part in a point, and how to check it. All calls are collective.
struct Trial {
    Operation* operation = nullptr;
    /// Writes fresh input for check number `seed` and spoils the output; empty: nothing is checked.
    std::function<void(std::uint64_t seed)> prepare;
    /// Counts wrong elements of this rank's result after `prepare(seed)` and calls.
    std::function<std::int64_t(std::uint64_t seed)> count_wrong;
    /// Called before each timed call, untimed; keeps the input's values.
    std::function<void()> before_call = {};
    /// Number of calls in one run of the operation, one after the other (see repeat_on_devices).
    std::int64_t calls_of_run = 1;
    /// Whether repeated calls leave the input unchanged (not so in place).
    bool keeps_input = true;
    /// Runs during each batch, but not during the warm-up; null: nothing does.
    const Disturbance* disturbance = nullptr;
};

/// Times all trials against each other: rounds of short batches in changing order, until each has
/// finished by its StoppingRule. The time of a call is the slowest rank's. The first call and the
/// last batch of each trial are checked with separate data. Collective; the same result on all
/// ranks.
std::vector<Measured> measure(World& world, std::vector<Trial>& trials, const Protocol& protocol);

/// Result of a trial in turns, and the turn that ended it.
struct MeasuredInTurns {
    Measured measured;
    Turn last;
};

/// Measures one trial in blocks, each in a separate turn, as many as the other job asks for. Checks
/// calls like measure(); fills in only `check` and the start of calls. The caller ends the trial,
/// or starts another one if the last turn is `renew`. Collective.
MeasuredInTurns measure_in_turns(World& world, Trial& trial, const Protocol& protocol,
                                 Turns& turns);

}  // namespace tutti
