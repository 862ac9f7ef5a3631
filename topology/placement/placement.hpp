// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <vector>

#include "base/index.hpp"

#pragma GCC visibility push(default)
namespace tutti {

/// Ranks in groups; each rank is in one.
using Grouping = std::vector<std::vector<Rank>>;

/// Which rank sits where: in which node (a host), and there in which island: ranks that share
/// something faster than the host's, a NUMA node or an NVLink domain. Nodes and islands are
/// numbered from 0 in the order of their first rank; every island lies inside one node.
class Placement {
public:
    Placement() = default;

    /// All ranks in one node.
    static Placement one_node(int ranks) { return in_nodes_of(ranks, ranks); }

    /// Ranks dealt to nodes in order, `per_node` to each; the last node takes what is left. The
    /// ranks of a node are dealt to its islands alike; without `per_island` it is one island.
    static Placement in_nodes_of(int ranks, int per_node, int per_island = 0);

    /// Ranks with equal labels (host numbers, say) share a node, which is one island.
    static Placement by_label(const std::vector<int>& node_of_rank);

    /// Ranks that have both labels in common share an island of a node.
    static Placement by_labels(const std::vector<int>& node_of_rank,
                               const std::vector<int>& island_of_rank);

    /// The same nodes, with the ranks of each dealt to islands of `per_island` in rank order.
    Placement with_islands_of(int per_island) const;

    /// The same places for ranks that are called by their position in `order`: rank order[i] is
    /// called i.
    Placement renamed(const std::vector<Rank>& order) const;

    /// The members of each node, in rank order; the first of each is its leader.
    const Grouping& nodes() const { return nodes_; }
    /// The members of each island, as of nodes. The nodes again where nothing divides them.
    const Grouping& islands() const { return islands_; }

    /// Of the nodes.
    std::vector<Rank> leaders() const;

private:
    Grouping nodes_;
    Grouping islands_;
};

}  // namespace tutti
#pragma GCC visibility pop
