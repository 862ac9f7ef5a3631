// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "collectives/execute/plan/plan.hpp"
#include "results/point.hpp"
#include "workloads/timing/global_clock.hpp"

namespace tutti {

/// When to start a call, and when to stop repeating it.
struct Protocol {
    /// automatic: deadline with a core for each rank, and of several hosts with `clock`, unless
    /// most calls come late or the clocks differ by more than a tenth of a call.
    /// On one oversubscribed host rows: see Start::back_to_back. `row` is a barrier on several
    /// hosts, and where something is to be done before each call.
    enum class Sync { automatic, deadline, barrier, row } sync = Sync::automatic;
    double target_ci = 0.025;  ///< stop at this half-width of the median's 95 % interval
    double max_seconds = 0.2;  ///< for the batches of one trial at one point
    std::int64_t min_samples = 20;
    std::int64_t max_samples = 10000;
    std::int64_t fixed_samples = 0;  ///< exactly so many instead; 0: by the rules above
    std::int64_t warm_up_calls = 3;  ///< at least; and for `warm_up_ns`, unless they are 0
    std::int64_t warm_up_ns = 1'000'000;
    std::int64_t most_calls_of_batch = 1000;  ///< of an trial before it is another's turn
    GlobalClock* clock = nullptr;             ///< of several hosts, for deadlines; else unused
    bool shuffle = true;  ///< random order in each round, by the seed; else as given
    std::uint64_t seed = 1;
};

/// One operation that takes part in a point, with what it needs to be checked. All calls
/// collective.
struct Trial {
    Operation* operation = nullptr;
    /// Fresh input for check number `seed` and a spoilt output; nothing to check: empty.
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

/// What was found for one trial.
struct Measured {
    std::vector<std::int64_t> samples;  ///< ns, in order, warm-up prefix removed
    Start start = Start::barrier;
    TimeFrom from = TimeFrom::max_local;
    std::int64_t n_invalid = 0;
    std::int64_t n_warm = 0;
    std::int64_t calls_of_sample = 1;  ///< of which it is the mean
    std::string stop_reason;
    std::int64_t skew_p50_ns = 0;
    std::int64_t device_p50_ns = 0;      ///< of a call by the slowest device's clock; 0: none
    std::int64_t clock_residual_ns = 0;  ///< deadlines of several hosts: the largest seen
    std::map<Rank, std::int64_t> stragglers;
    std::optional<NetworkBytes> wire;  ///< of the timed calls; several hosts only
    Check check;
};

/// Times all trials against each other: rounds of short batches in changing order, until each is
/// known well enough. The time of a call is the slowest rank's. The first call and the last batch
/// of each trial are checked with data of their own. Collective; the same result on all ranks.
std::vector<Measured> measure(World& world, std::vector<Trial>& trials, const Protocol& protocol);

}  // namespace tutti
