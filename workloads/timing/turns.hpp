// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "results/records/key.hpp"

namespace tutti {

/// What a job does in the turn that it was given.
enum class Turn {
    go_on,
    go_on_by_steps,  ///< the next block tells when each step ends
    renew,           ///< this trial anew, in other memory: where buffers lie makes a difference
    skip,            ///< this trial is not measured
    stop             ///< this trial has enough blocks
};

/// Another job on the same cores, with which this one measures by turns: while one works, the other
/// sleeps. Both have the same trials in the same order. All calls collective over the job's ranks.
class Turns {
public:
    virtual ~Turns() = default;

    /// This job is ready for trial number `trial` (from 0).
    virtual Turn ready(std::int64_t trial, const Key& key) = 0;
    /// The trial's calls are warm, for the first time or anew.
    virtual Turn warm() = 0;
    /// A block's median; 0 of no sample.
    virtual Turn block(std::int64_t median_ns) = 0;
    /// Instead, see step_ends_of().
    virtual Turn steps(const std::vector<std::int64_t>& ends_ns) = 0;
    /// The trial has ended, and so many of its elements were wrong. The turn goes on.
    virtual void ended(std::int64_t n_wrong) = 0;
    /// The trial cannot run here. The turn goes on.
    virtual void skipped(std::int64_t trial, const Key& key, const std::string& reason) = 0;
};

}  // namespace tutti
