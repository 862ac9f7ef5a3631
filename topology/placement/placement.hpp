// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <map>
#include <span>
#include <vector>

#include "base/index.hpp"
#include "base/level.hpp"

#pragma GCC visibility push(default)
namespace tutti {

/// Ranks in groups; each rank is in one.
using Grouping = std::vector<std::vector<Rank>>;

/// The ranks in each part of one level, such as each host.
struct PlacementLevel {
    Level level = Level::host;
    Grouping groups;
};

/// The level and the number of its parts in each part of the level above.
struct PartCount {
    Level level = Level::host;
    int count = 1;
};

/// The place of each rank in a tree of levels, such as caches in NUMA nodes in hosts: each group of
/// a level lies inside one group of the next larger level. There is always a level of nodes
/// (hosts). Groups are numbered in the order of their first rank, and their members are in rank
/// order.
class Placement {
public:
    Placement() = default;

    /// Puts all ranks in one node.
    static Placement one_node(int ranks) { return in_nodes_of(ranks, ranks); }

    /// Puts `per_node` consecutive ranks in each node, the rest in the last one. Islands are filled
    /// in the same way; without `per_island` each node is one island.
    static Placement in_nodes_of(int ranks, int per_node, int per_island = 0);

    /// Puts ranks with equal labels (such as host numbers) in one node, which is one island.
    static Placement by_label(const std::vector<int>& node_of_rank);

    /// Puts ranks with equal first labels in one node, with both labels equal in one island.
    static Placement by_labels(const std::vector<int>& node_of_rank,
                               const std::vector<int>& island_of_rank);

    /// Puts ranks in one group of a level if their labels of this and of all larger levels are
    /// equal. Without a label of the host or of a larger level, all ranks are in one node.
    static Placement of_levels(int ranks, std::map<Level, std::vector<int>> labels);

    /// Fills the parts of a regular tree, the largest level first, with consecutive ranks:
    /// {{host, 64}, {package, 2}} and 96 is 64 hosts of two packages with 96 ranks each.
    static Placement in_parts(std::span<const PartCount> parts, int ranks_per_part);

    /// Divides each node into islands of `per_island` consecutive ranks.
    Placement with_islands_of(int per_island) const;

    /// Renumbers the ranks: rank order[i] becomes rank i.
    Placement renamed(const std::vector<Rank>& order) const;

    /// Returns the known levels, the smallest first.
    const std::vector<PlacementLevel>& levels() const { return levels_; }

    /// Returns the groups of this level, or of the smallest known level above it. Empty if all
    /// known levels are smaller.
    const Grouping& groups(Level level) const;

    /// Returns the members of each node, in rank order; the first is its leader.
    const Grouping& nodes() const { return groups(Level::host); }
    /// Returns the members of each island, a NUMA node; equal to nodes() if nothing divides them.
    const Grouping& islands() const { return groups(Level::numa); }

    /// Returns the leader of each node.
    std::vector<Rank> leaders() const;

private:
    std::map<Level, std::vector<int>> labels() const;

    std::vector<PlacementLevel> levels_;
};

}  // namespace tutti
#pragma GCC visibility pop
