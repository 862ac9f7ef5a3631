// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <optional>
#include <vector>

#include "workloads/bench/sweep.hpp"

namespace tutti {

/// A call of a sweep that is to be measured, with all that takes part.
struct PlannedCall {
    double bytes = 0;
    double most_seconds = 0;  ///< that the options allow; infinite: they bound nothing
};

/// The longest that a trial's calls, its set-up and its checks take by the options: until
/// max_seconds, or as many calls as are wanted at most, of `call_seconds` each (0: unknown).
/// Infinite where neither is known.
double most_seconds_of_trial(const Protocol& protocol, double call_seconds);

/// What the sweep is going to measure, in its order; calls take what its model predicts, if it has
/// one.
std::vector<PlannedCall> planned_calls(const Sweep& sweep, int ranks);

/// How long a sweep takes. A value without a clock: times are of any.
class SweepPace {
public:
    /// `budget_seconds` is about what all calls together take at most; 0: no bound. It is none of
    /// a fixed number of samples.
    SweepPace(std::vector<PlannedCall> calls, double budget_seconds, std::int64_t began_ns);

    std::size_t calls() const { return calls_.size(); }
    /// Of all calls, before any was measured; infinite where nothing bounds it.
    double most_seconds() const;

    /// The next call was measured.
    void measured(std::int64_t now_ns);
    /// The next call was measured by an earlier run.
    void known(std::int64_t now_ns);

    /// By the seconds of the calls so far: what a call takes is a line over its bytes, of which
    /// neither begin nor slope is negative, up to what the options allow. The call under way still
    /// takes a tenth of what it took, at least. Nothing before a call was measured.
    std::optional<double> seconds_left(std::int64_t now_ns) const;

private:
    struct Took {
        double bytes, seconds;
    };

    std::vector<PlannedCall> calls_;
    double budget_seconds_;
    std::int64_t began_ns_;
    std::int64_t last_ns_;  // when the call before ended
    std::size_t done_ = 0;
    std::vector<Took> took_;
    bool is_bounded_ = true;  // so far no call took longer than the options allow
};

}  // namespace tutti
