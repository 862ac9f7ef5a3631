// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <vector>

#include "collectives/execute/plan/plan.hpp"
#include "results/records/point.hpp"
#include "workloads/timing/global_clock.hpp"

namespace tutti {

/// Times of one rank's call, by the common clock if there is one. With back_to_back, of several
/// calls.
struct CallTimes {
    std::int64_t begin_ns;
    std::int64_t end_ns;
    bool late;                   ///< began after its deadline: the sample does not count
    std::int64_t before_ns;      ///< time of `before_call`
    std::int64_t device_ns = 0;  ///< time of the last call by the clock of its device; 0: none
};

/// Returns whether a call began too late to count. `first_look_ns`: when its rank was ready for it;
/// after the deadline the rank was still busy. `begin_ns`: when it left the wait; if that is much
/// later, another program had the core.
bool is_late(std::int64_t first_look_ns, std::int64_t begin_ns, std::int64_t deadline_ns,
             std::int64_t gap_ns);

struct TimedBatch;

/// Runs a batch of calls that the ranks start together.
///
/// `deadline`: rank 0 chooses a time on the common clock (the host's, or with several hosts the
/// first one's, see GlobalClock), and call i starts at that time + i * gap. There are no messages
/// between calls, so the start adds nothing to the time.
///
/// `barrier`: all ranks meet before each call. For oversubscribed machines, where ranks that spin
/// until a deadline would keep other ranks from their cores, and if clocks do not agree well
/// enough.
///
/// `back_to_back`: all ranks meet once, then several calls follow each other, and the sample is
/// their mean. For one oversubscribed host, where ranks leave a barrier when the scheduler lets
/// them, which would dominate single calls.
class BatchRunner {
public:
    /// `clock` is needed for deadlines on several hosts, and outlives this object.
    BatchRunner(World& world, Start start, const GlobalClock* clock = nullptr);

    Start start() const { return start_; }

    struct Batch {
        std::int64_t samples = 1;
        std::int64_t calls_of_sample = 1;        ///< back_to_back only
        std::int64_t gap_ns = 0;                 ///< between starts; deadline only
        std::function<void()> before_call = {};  ///< not timed; may be empty
    };
    /// Collective. Allocates nothing between the calls.
    std::vector<CallTimes> run(Operation& operation, const Batch& batch);

    /// Sets the next deadline further ahead if ranks came too late for a batch's first call. `last`
    /// is the same on all ranks.
    void learn(const TimedBatch& last);

private:
    std::int64_t common_time() const;
    void run_at_deadlines(Operation& operation, const Batch& batch, std::vector<CallTimes>& times);
    void run_after_barriers(Operation& operation, const Batch& batch,
                            std::vector<CallTimes>& times);

    World* world_;  // never null
    Start start_;
    const GlobalClock* clock_;
    std::int64_t least_lead_ns_;
    std::int64_t lead_ns_;  // from the choice of a deadline, which is broadcast, to the deadline
};

/// The calls of a batch, with the slowest rank's time of each. The same on all ranks.
struct TimedBatch {
    std::vector<std::int64_t> samples_ns;  ///< of valid calls
    std::int64_t n_invalid = 0;
    bool first_was_late = false;
    std::int64_t before_ns = 0;  ///< 90th percentile of the times of `before_call`
    std::vector<std::int64_t> skews_ns;
    std::vector<std::int64_t> device_ns;  ///< of the slowest device; as many as samples, or none
    std::map<Rank, std::int64_t> stragglers;  ///< how often each rank ended last
};

/// Combines the times of all ranks. A deadline's sample runs from the last arrival (the clock is
/// common); a back-to-back one from the first arrival, divided by its calls; one after a barrier
/// from each rank's own begin. Collective.
TimedBatch gather_batch(World& world, Start start, const std::vector<CallTimes>& mine,
                        std::int64_t calls_of_sample = 1);

/// The gap between deadlines: a little more than the 90th percentile of the previous batches. While
/// no call begins on time it grows, to at most 0.1 s or 100 times the guess.
class StartGap {
public:
    void learn(const TimedBatch& batch);
    void guess(std::int64_t call_ns) {
        ns_ = call_ns * 2 + margin_ns_;
        most_ns_ = std::max(most_ns_, 100 * ns_);
    }
    std::int64_t ns() const { return ns_; }

private:
    std::int64_t margin_ns_ = 1'000;
    std::int64_t ns_ = 0;
    std::int64_t most_ns_ = 100'000'000;
};

}  // namespace tutti
