// SPDX-License-Identifier: Apache-2.0
#include "topology/placement.hpp"

#include <map>

namespace tutti {

Placement Placement::in_nodes_of(int ranks, int per_node) {
    std::vector<int> labels;
    for (int rank = 0; rank < ranks; ++rank) labels.push_back(rank / per_node);
    return by_label(labels);
}

Placement Placement::by_label(const std::vector<int>& label_of_rank) {
    Placement placement;
    std::map<int, std::size_t> node_of_label;
    for (std::size_t rank = 0; rank < label_of_rank.size(); ++rank) {
        const auto [at, is_new] =
            node_of_label.try_emplace(label_of_rank[rank], placement.nodes_.size());
        if (is_new) placement.nodes_.emplace_back();
        placement.nodes_[at->second].push_back(Rank{static_cast<int>(rank)});
    }
    return placement;
}

std::vector<Rank> Placement::leaders() const {
    std::vector<Rank> leaders;
    for (const auto& node : nodes_) leaders.push_back(node.front());
    return leaders;
}

}  // namespace tutti
