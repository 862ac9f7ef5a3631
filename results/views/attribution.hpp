// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "results/comparison/staged_comparison.hpp"

namespace tutti {

/// The schedule steps that became slower in B, measured by launches of their own.
struct Attribution {
    std::vector<StepGrowth> metrics;
    std::map<std::string, std::string> missing;  ///< metrics without steps, and the reasons
};

/// Calls `tell` with progress. Throws Error if a launch fails.
Attribution attribute(const LaunchBoth& by_steps, const std::set<std::string>& metrics,
                      const std::function<void(const std::string&)>& tell);

/// Formats a table for each metric.
std::string in_text(const std::vector<StepGrowth>& metrics);

}  // namespace tutti
