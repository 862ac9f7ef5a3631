// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <functional>
#include <map>
#include <vector>

#include "collectives/execute/plan/plan.hpp"
#include "results/point.hpp"
#include "workloads/timing/global_clock.hpp"

namespace tutti {

/// How the calls of a batch start together.
///
/// `deadline`: rank 0 names a time on the common clock (the host's; of several hosts the first
/// one's, see GlobalClock) and a distance; call i starts at time + i * distance. No messages
/// between calls, so nothing of the start is in the time. `barrier`: all meet before each call; for
/// oversubscribed machines, where ranks that spin until a deadline would keep others from their
/// cores, and where clocks do not agree well enough. `back_to_back`: all meet, then a row of calls
/// follows one another, and the sample is the mean; for one oversubscribed host, where ranks leave
/// a barrier when the system lets them: who comes last then finds all done, or waits for a turn of
/// the scheduler, and single calls tell of that alone.
class Starter {
public:
    /// `clock` is needed for deadlines of several hosts, and outlives this.
    Starter(World& world, Start start, const GlobalClock* clock = nullptr);

    Start start() const { return start_; }

    /// Time stamps of one rank's call, by the common clock if there is one.
    struct Stamp {
        std::int64_t begin_ns;
        std::int64_t end_ns;
        bool late;                   ///< came after the deadline: the sample does not count
        std::int64_t before_ns;      ///< what `before_call` took
        std::int64_t device_ns = 0;  ///< of the last call, by the clock of its device; 0: none
    };

    /// Calls `operation` stamps.size() times, each time after `before_call`, which is not timed and
    /// may be empty. `distance_ns` is between starts (deadline only). Of back_to_back each stamp is
    /// of a `row` of calls.
    void run(Operation& operation, const std::function<void()>& before_call,
             std::int64_t distance_ns, std::vector<Stamp>& stamps, std::int64_t row = 1);

    /// How the last batch's first call went: where ranks came too late for it, the next deadline is
    /// set further ahead. The same on all ranks.
    void learn(bool first_was_late);

private:
    std::int64_t common_time() const;

    World* world_;  // never null
    Start start_;
    const GlobalClock* clock_;
    std::int64_t least_head_start_ns_;
    std::int64_t head_start_ns_;  // for the deadline itself to get around
};

/// The stamps of all ranks, call by call.
struct TimedBatch {
    std::vector<std::int64_t> samples_ns;  ///< of the calls that count
    std::int64_t n_invalid = 0;
    bool first_was_late = false;
    std::int64_t before_ns = 0;  ///< what nearly all of the work before calls took
    std::vector<std::int64_t> skews_ns;
    std::vector<std::int64_t> device_ns;  ///< of the slowest device; as many as samples, or none
    std::map<Rank, std::int64_t> stragglers;  ///< who ended last, how often
};

/// What nine in ten do not exceed. Of at least one.
std::int64_t nearly_most(std::vector<std::int64_t> times);

/// Collective: brings the stamps together and takes the slowest rank's time of each call. From a
/// deadline it runs from the last arrival (the clock is common), of a row from the first one, and
/// is then shared by its calls; from a barrier, from each rank's own begin.
TimedBatch gather_batch(World& world, Start start, const std::vector<Starter::Stamp>& stamps,
                        std::int64_t row = 1);

}  // namespace tutti
