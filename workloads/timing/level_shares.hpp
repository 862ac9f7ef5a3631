// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <functional>
#include <optional>
#include <vector>

#include "collectives/execute/plan/plan.hpp"
#include "results/records/point.hpp"
#include "topology/placement/placement.hpp"

namespace tutti {

/// The transfers of a schedule by level.
struct CountedLevels {
    /// From the smallest level, without times. Levels with the same parts have one entry, levels
    /// whose parts have one rank each have none.
    std::vector<LevelShare> shares;
    std::vector<std::size_t> farthest;  ///< for each step, the index of its farthest transfer
};

/// Counts a call by this schedule. Returns nothing if the ranks have only one level in common, or
/// if there are more than a million chunks to count.
std::optional<CountedLevels> count_levels(const Schedule& schedule, const Call& call,
                                          const Placement& placement);

/// Adds the times of levels to the shares. `ends`: see step_ends_of().
void add_times(CountedLevels& levels, const std::vector<std::int64_t>& ends);

/// Returns the shares of a call by this operation, with times where its steps are visible: medians
/// over some calls, or of one if a call takes long (`ns_of_call`). They overwrite the buffers.
/// Empty where count_levels() has nothing, for calls of libraries, and on other ranks than rank 0.
/// Collective.
std::vector<LevelShare> level_shares(World& world, Operation& operation, const Call& call,
                                     const Placement& placement,
                                     const std::function<void()>& before_call,
                                     std::int64_t ns_of_call);

}  // namespace tutti
