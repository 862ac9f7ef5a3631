// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>
#include <vector>

#include "workloads/bench/trials.hpp"

namespace tutti {

/// "all" is what works here, beside what is named; what does not is said once in `notes` instead of
/// in every row. Collective.
void leave_out_unusable(SearchSpace& search_space, Planner& planner,
                        std::vector<std::string>& notes);

/// Throws Error with the reasons where libraries are named and none of them is there at all.
/// Collective.
void expect_named_library(const SearchSpace& search_space, World& world);

/// Throws Error with the reasons where no transport and no library of the search_space works here.
/// Collective.
void expect_runner(const SearchSpace& search_space, Collective collective, Planner& planner);

/// Nodes, islands and orders, as asked for (0: as the ranks sit). Collective.
Environment environment_of(World& world, const std::vector<std::string>& orders, int ranks_per_node,
                           int ranks_per_island, std::vector<std::string>& notes);

}  // namespace tutti
