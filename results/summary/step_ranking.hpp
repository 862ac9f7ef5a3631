// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "results/records/step.hpp"
#include "results/statistics/ratio.hpp"

namespace tutti {

/// One method of communicating, over all launches that measured its step with right results.
struct RankedMethod {
    std::string name;
    std::vector<const TrainingStep*> steps;  ///< one of each launch
    double step_ns = 0, compute_ns = 0, communication_ns = 0, exposed_ns = 0;  ///< medians
    Ratio time;                                                                ///< ns, of a step
    std::optional<Ratio> over_best;  ///< its time over that of the shortest step
    bool is_tied = false;            ///< shortest, or statistically tied with the shortest
    bool is_unknown = false;         ///< too few steps, or no common launch, to compare it
};

/// The methods of steps that differ in method and launch alone, the shortest step first.
std::vector<RankedMethod> ranked_methods(std::span<const TrainingStep* const> steps);

}  // namespace tutti
