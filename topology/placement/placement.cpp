// SPDX-License-Identifier: Apache-2.0
#include "topology/placement/placement.hpp"

#include <map>
#include <utility>

#include "base/index.hpp"

namespace tutti {
namespace {

template <class Label>
Grouping grouped_by(const std::vector<Label>& label_of_rank) {
    Grouping groups;
    std::map<Label, std::size_t> group_of_label;
    for (std::size_t rank = 0; rank < label_of_rank.size(); ++rank) {
        const auto [at, is_new] = group_of_label.try_emplace(label_of_rank[rank], groups.size());
        if (is_new) groups.emplace_back();
        groups[at->second].push_back(Rank{static_cast<int>(rank)});
    }
    return groups;
}

// Returns the group of each rank.
std::vector<int> labels_of(const Grouping& groups) {
    std::size_t ranks = 0;
    for (const auto& group : groups) ranks += group.size();
    std::vector<int> labels(ranks);
    for (std::size_t group = 0; group < groups.size(); ++group)
        for (const Rank member : groups[group]) at(labels, member.index) = static_cast<int>(group);
    return labels;
}

}  // namespace

Placement Placement::in_nodes_of(int ranks, int per_node, int per_island) {
    std::vector<int> nodes;
    for (int rank = 0; rank < ranks; ++rank) nodes.push_back(rank / per_node);
    const Placement placement = by_label(nodes);
    return per_island > 0 ? placement.with_islands_of(per_island) : placement;
}

Placement Placement::by_label(const std::vector<int>& node_of_rank) {
    return by_labels(node_of_rank, std::vector<int>(node_of_rank.size(), 0));
}

Placement Placement::by_labels(const std::vector<int>& node_of_rank,
                               const std::vector<int>& island_of_rank) {
    std::vector<std::pair<int, int>> both;
    for (std::size_t rank = 0; rank < node_of_rank.size(); ++rank)
        both.emplace_back(node_of_rank[rank], island_of_rank[rank]);
    Placement placement;
    placement.nodes_ = grouped_by(node_of_rank);
    placement.islands_ = grouped_by(both);
    return placement;
}

Placement Placement::with_islands_of(int per_island) const {
    const std::vector<int> nodes = labels_of(nodes_);
    std::vector<int> islands(nodes.size());
    for (const auto& node : nodes_)
        for (std::size_t position = 0; position < node.size(); ++position)
            at(islands, node[position].index) = static_cast<int>(position) / per_island;
    return by_labels(nodes, islands);
}

Placement Placement::renamed(const std::vector<Rank>& order) const {
    const std::vector<int> node_of_rank = labels_of(nodes_), island_of_rank = labels_of(islands_);
    std::vector<int> nodes, islands;
    for (const Rank rank : order) {
        nodes.push_back(at(node_of_rank, rank.index));
        islands.push_back(at(island_of_rank, rank.index));
    }
    return by_labels(nodes, islands);
}

std::vector<Rank> Placement::leaders() const {
    std::vector<Rank> leaders;
    for (const auto& node : nodes_) leaders.push_back(node.front());
    return leaders;
}

}  // namespace tutti
