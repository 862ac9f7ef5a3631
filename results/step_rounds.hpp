// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "results/comparison_records.hpp"

namespace tutti {

/// What rounds of two blocks of A and two of B say of the steps of a call.
class StepRounds {
public:
    /// Two blocks of A, then two of B, each with the ends of all steps and of the call, in ns since
    /// the call began.
    void add(const std::array<std::vector<std::int64_t>, 4>& ends_of_blocks);

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
