// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "results/comparison/comparison_records.hpp"
#include "results/comparison/quads.hpp"

namespace tutti {

/// Compares the steps of a call within quads.
class StepRounds {
public:
    /// For each block, the ends of all steps and of the call, in ns since the call began.
    void add(const QuadOf<std::vector<std::int64_t>>& quad);

    /// The medians over the rounds, without session and metric. Nothing where there is no round, or
    /// where A and B have different numbers of steps.
    std::optional<StepGrowth> times() const;

private:
    std::vector<std::vector<double>> a_ns_, b_ns_, grew_ns_;  // a row for each round
    bool are_alike_ = true;
};

/// The medians of several launches of the same metric; of at least one, all of the same plan.
StepGrowth median_of(std::span<const StepGrowth> launches);

}  // namespace tutti
