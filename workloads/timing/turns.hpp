// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "results/records/key.hpp"

namespace tutti {

/// The next action of a job in its turn.
enum class Turn {
    go_on,
    go_on_by_steps,  ///< the next block reports when each step ends
    /// Repeat this trial in other memory, because the place of buffers affects times
    renew,
    /// Repeat this trial with calls that start at a barrier, because most came too late for their
    /// deadlines
    start_at_barriers,
    skip,  ///< this trial is not measured
    stop   ///< this trial has enough blocks
};

/// The time of a call in a block of calls.
struct BlockTime {
    std::int64_t median_ns = 0;
    double midmean_ns = 0;  ///< see midmean()
};

/// Another job on the same cores, with which this one measures in turns: while one works, the other
/// sleeps. Both have the same trials in the same order. All calls are collective over the job's
/// ranks.
class Turns {
public:
    virtual ~Turns() = default;

    /// This job is ready for trial number `trial` (from 0).
    virtual Turn ready(std::int64_t trial, const Key& key) = 0;
    /// The trial's calls are warm, for the first time or after `renew`.
    virtual Turn warm() = 0;
    /// Reports a block; both times are 0 without samples.
    virtual Turn block(const BlockTime& time) = 0;
    /// Reports the ends of steps instead, see step_ends_of().
    virtual Turn steps(const std::vector<std::int64_t>& ends_ns) = 0;
    /// The trial has ended with this many wrong elements. The turn continues.
    virtual void ended(std::int64_t n_wrong) = 0;
    /// The trial cannot run here. The turn continues.
    virtual void skipped(std::int64_t trial, const Key& key, const std::string& reason) = 0;
};

}  // namespace tutti
