// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <limits>
#include <optional>
#include <vector>

#include "workloads/bench/sweep.hpp"

namespace tutti {

/// A call of a sweep to be measured with all candidates.
struct PlannedCall {
    double bytes = 0;
    double most_seconds = 0;  ///< allowed by the options; infinite: unlimited
};

/// Returns the longest time of a trial's calls, set-up and checks: until max_seconds, or for the
/// maximum number of calls of `call_seconds` each (0: unknown). Infinite if neither is known.
double most_seconds_of_trial(const Protocol& protocol, double call_seconds);

/// Lists what the sweep will measure, in order. Calls take the time predicted by its model, if
/// there is one.
std::vector<PlannedCall> planned_calls(const Sweep& sweep, int ranks);

/// Estimates how long a sweep takes. It has no clock: callers pass times.
class SweepPace {
public:
    /// `budget_seconds` limits all calls together; 0: no limit, as for a fixed number of samples.
    SweepPace(std::vector<PlannedCall> calls, double budget_seconds, std::int64_t began_ns);

    std::size_t calls() const { return calls_.size(); }
    /// Returns the time limit of all calls; infinite if there is none.
    double most_seconds() const;

    /// Counts the next call as measured.
    void measured(std::int64_t now_ns);
    /// Counts the next call as measured by an earlier run.
    void known(std::int64_t now_ns);

    /// Extrapolates from the calls so far: the time of a call is a line over its bytes with
    /// non-negative intercept and slope, limited by the options. The current call is expected to
    /// take at least another tenth of its time so far. Returns nothing before the first call was
    /// measured.
    std::optional<double> seconds_left(std::int64_t now_ns) const;

    /// Returns the least time of the whole sweep, if that is clearly more than the budget: every
    /// call is expected to take at least as long as the fastest one so far.
    std::optional<double> seconds_beyond_budget(std::int64_t now_ns) const;
    /// Drops the budget, so that it is reported once.
    void drop_budget() { budget_seconds_ = std::numeric_limits<double>::infinity(); }

private:
    double least_left() const;

    struct Took {
        double bytes, seconds;
    };

    std::vector<PlannedCall> calls_;
    double budget_seconds_;
    std::int64_t began_ns_;
    std::int64_t last_ns_;  // end of the previous call
    std::size_t done_ = 0;
    std::vector<Took> took_;
    double least_seconds_ =
        std::numeric_limits<double>::infinity();  // the fastest call took this time
    bool is_bounded_ = true;                      // no call took longer than the options allow
};

}  // namespace tutti
