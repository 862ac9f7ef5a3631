// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <vector>

#include "base/ids.hpp"

namespace tutti {

/// Which rank sits in which node. Nodes are numbered from 0 in the order of their first rank.
class Placement {
public:
    Placement() = default;

    /// All ranks in one node.
    static Placement one_node(int ranks) { return in_nodes_of(ranks, ranks); }

    /// Ranks dealt to nodes in order, `per_node` to each; the last node takes what is left.
    static Placement in_nodes_of(int ranks, int per_node);

    /// Ranks with equal labels (host numbers, say) share a node.
    static Placement by_label(const std::vector<int>& label_of_rank);

    /// The members of each node, in rank order; the first of each is its leader.
    const std::vector<std::vector<Rank>>& nodes() const { return nodes_; }

    std::vector<Rank> leaders() const;

private:
    std::vector<std::vector<Rank>> nodes_;
};

}  // namespace tutti
