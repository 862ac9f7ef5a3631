// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "cli/compare/launches.hpp"

namespace tutti {

/// Which steps of their plans took so much longer in B, by launches of their own.
struct Attribution {
    std::vector<StepGrowth> metrics;
    std::map<std::string, std::string> missing;  ///< metrics, and why
};

/// `tell` gets a line on how far it is. Throws Error if a launch fails.
Attribution attribute(const TwinJobs& jobs, const std::set<std::string>& metrics,
                      const std::function<void(const std::string&)>& tell);

/// A table of each metric, for people.
std::string in_text(const std::vector<StepGrowth>& metrics);

}  // namespace tutti
