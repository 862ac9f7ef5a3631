// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <vector>

#include "workloads/limits/limit_curves.hpp"

namespace tutti {

/// From which size on it pays to store results past the caches: all members exchange sums as a
/// direct all-reduce does, by either kind of store in turn. Keeps the best of all rounds.
class StreamSampler {
public:
    /// Calls whose inputs and outputs have up to `most` bytes together; each member has its share
    /// of that in shared memory.
    StreamSampler(RankTeam& crew, std::int64_t most);

    void sample_all(Round round);

    const std::vector<StreamTrial>& trials() const { return trials_; }

private:
    double call_ns(Stores stores, std::int64_t bytes);

    RankTeam& crew_;
    std::vector<StreamTrial> trials_;
    ReduceKernel kernels_[2];
    int rounds_ = 0;
};

}  // namespace tutti
