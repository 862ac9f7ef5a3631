// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <vector>

#include "base/index.hpp"
#include "collectives/schedule/schedule.hpp"
#include "topology/placement/placement.hpp"

namespace tutti {

/// Which rank has which host, and which core where a host has more ranks than cores: neighbours
/// share one, as `pin_ranks` has it.
/// Else each rank has a core of its own.
struct CoreAssignment {
    std::vector<int> host_of, core_of;
    int hosts = 0, cores = 0;
    int most_on_core = 1;
    bool is_oversubscribed = false;

    CoreAssignment(const Placement& placement, int ranks, int cores_of_host);
};

/// Reads a schedule's steps one by one into memory that is used again. Of a step with more
/// transfers than can be looked at in a moment (all with all, a thousand ranks) it reads those of a
/// few ranks only, which stand for the others: such steps are alike for all, but for the root.
class StepReader {
public:
    StepReader(const Schedule& schedule, Rank root, const CoreAssignment& assignment);

    /// So that no more than about `most` transfers are read if only each n-th step is. Asks the
    /// first, the middle and the last step.
    int stride_for(std::int64_t most);

    void read(int step);
    const std::vector<Transfer>& transfers() const { return transfers_; }

    bool is_sampled() const { return is_sampled_; }
    /// How many ranks of its host a sampled rank represents; 0 for those outside the sample.
    double stands_for(Rank rank) const { return is_sampled_ ? at(weights_, rank) : 1; }

    /// Transfers visited so far.
    std::int64_t visited() const { return visited_; }

private:
    void read_sample(int step);

    const Schedule& schedule_;
    std::vector<Rank> sample_;
    std::vector<double> weights_;
    std::vector<Transfer> transfers_;
    bool is_sampled_ = false;
    std::int64_t visited_ = 0;
};

}  // namespace tutti
