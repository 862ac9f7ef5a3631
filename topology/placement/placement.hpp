// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <vector>

#include "base/index.hpp"

#pragma GCC visibility push(default)
namespace tutti {

/// Ranks in groups; each rank is in one.
using Grouping = std::vector<std::vector<Rank>>;

/// The node (host) and island of each rank. An island is a part of a node with faster
/// communication, such as a NUMA node or an NVLink domain. Nodes and islands are numbered in the
/// order of their first rank.
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

    /// Divides each node into islands of `per_island` consecutive ranks.
    Placement with_islands_of(int per_island) const;

    /// Renumbers the ranks: rank order[i] becomes rank i.
    Placement renamed(const std::vector<Rank>& order) const;

    /// Returns the members of each node, in rank order; the first is its leader.
    const Grouping& nodes() const { return nodes_; }
    /// Returns the members of each island; equal to nodes() if nothing divides them.
    const Grouping& islands() const { return islands_; }

    /// Returns the leader of each node.
    std::vector<Rank> leaders() const;

private:
    Grouping nodes_;
    Grouping islands_;
};

}  // namespace tutti
#pragma GCC visibility pop
