// SPDX-License-Identifier: Apache-2.0
#include "topology/placement/placement.hpp"

#include <ranges>
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
    return of_levels(int_size(node_of_rank), {{Level::host, node_of_rank}});
}

Placement Placement::by_labels(const std::vector<int>& node_of_rank,
                               const std::vector<int>& island_of_rank) {
    return of_levels(int_size(node_of_rank),
                     {{Level::host, node_of_rank}, {Level::numa, island_of_rank}});
}

Placement Placement::of_levels(int ranks, std::map<Level, std::vector<int>> labels) {
    if (labels.empty() || labels.rbegin()->first < Level::host)
        labels[Level::host].assign(as_size(ranks), 0);
    Placement placement;
    std::vector<std::pair<int, int>> places(as_size(ranks));  // group of the level above, and label
    for (const auto& [level, label_of_rank] : std::views::reverse(labels)) {
        for (std::size_t rank = 0; rank < places.size(); ++rank)
            places[rank].second = label_of_rank[rank];
        Grouping groups = grouped_by(places);
        const std::vector<int> group_of_rank = labels_of(groups);
        for (std::size_t rank = 0; rank < places.size(); ++rank)
            places[rank].first = group_of_rank[rank];
        placement.levels_.insert(placement.levels_.begin(), {level, std::move(groups)});
    }
    return placement;
}

Placement Placement::in_parts(std::span<const PartCount> parts, int ranks_per_part) {
    int ranks = ranks_per_part;
    for (const PartCount& part : parts) ranks *= part.count;
    std::map<Level, std::vector<int>> labels;
    int ranks_in_part = ranks;
    for (const PartCount& part : parts) {
        ranks_in_part /= part.count;
        for (int rank = 0; rank < ranks; ++rank) labels[part.level].push_back(rank / ranks_in_part);
    }
    return of_levels(ranks, std::move(labels));
}

Placement Placement::with_islands_of(int per_island) const {
    std::map<Level, std::vector<int>> all = labels();
    all.erase(all.begin(), all.lower_bound(Level::host));  // islands may divide smaller levels
    std::vector<int> islands(labels_of(nodes()).size());
    for (const auto& node : nodes())
        for (std::size_t position = 0; position < node.size(); ++position)
            at(islands, node[position].index) = static_cast<int>(position) / per_island;
    const int ranks = int_size(islands);
    all[Level::numa] = std::move(islands);
    return of_levels(ranks, std::move(all));
}

Placement Placement::renamed(const std::vector<Rank>& order) const {
    std::map<Level, std::vector<int>> moved;
    for (const auto& [level, group_of_rank] : labels())
        for (const Rank rank : order) moved[level].push_back(at(group_of_rank, rank.index));
    return of_levels(int_size(order), std::move(moved));
}

const Grouping& Placement::groups(Level level) const {
    static const Grouping none;
    for (const PlacementLevel& known : levels_)
        if (known.level >= level) return known.groups;
    return none;
}

std::vector<Rank> Placement::leaders() const {
    std::vector<Rank> leaders;
    for (const auto& node : nodes()) leaders.push_back(node.front());
    return leaders;
}

std::map<Level, std::vector<int>> Placement::labels() const {
    std::map<Level, std::vector<int>> labels;
    for (const PlacementLevel& known : levels_) labels[known.level] = labels_of(known.groups);
    return labels;
}

}  // namespace tutti
