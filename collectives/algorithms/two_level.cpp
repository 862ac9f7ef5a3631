// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "collectives/algorithms/building_blocks.hpp"
#include "collectives/schedule/compose.hpp"
#include "topology/placement.hpp"

namespace tutti {
namespace {

// Collectives inside every node at once, and among one leader per node. The leader of the root's
// node is the root.
class TwoLevels {
public:
    TwoLevels(int ranks, const Placement& placement, Rank root = {0}) : ranks_(ranks) {
        for (const auto& members : placement.nodes()) {
            nodes_.push_back({.members = members});
            auto& node = nodes_.back().members;
            const auto root_here = std::find(node.begin(), node.end(), root);
            if (root_here == node.end()) continue;
            std::rotate(node.begin(), root_here, root_here + 1);
            root_node_ = Rank{static_cast<int>(nodes_.size()) - 1};
        }
    }

    Rank root_node() const { return root_node_; }

    // The whole message, cut alike in every node.
    Schedule inside(const std::function<Schedule(int)>& inner) const {
        return on_each(ranks_, 1, nodes_, inner);
    }
    Schedule across(const std::function<Schedule(int)>& inner) const {
        return on_each(ranks_, 1, {leaders()}, inner);
    }

    // One block per rank: inside a node its members' blocks, across all blocks of each node.
    Schedule blocks_inside(const std::function<Schedule(int)>& inner) const {
        std::vector<Group> groups = nodes_;
        for (Group& node : groups)
            for (Rank member : node.members) node.pieces.push_back({chunk_of(member)});
        return on_each(ranks_, ranks_, groups, inner);
    }
    Schedule blocks_across(const std::function<Schedule(int)>& inner) const {
        Group group = leaders();
        for (const Group& node : nodes_) group.pieces.push_back(runs_of(node.members));
        return on_each(ranks_, ranks_, {group}, inner);
    }

private:
    Group leaders() const {
        Group group;
        for (const Group& node : nodes_) group.members.push_back(node.members.front());
        return group;
    }

    // The members' blocks as runs of neighbours: one run for ranks placed node by node.
    static std::vector<Chunks> runs_of(std::vector<Rank> members) {
        std::sort(members.begin(), members.end());
        std::vector<Chunks> runs;
        for (Rank member : members) {
            if (!runs.empty() && runs.back().first + runs.back().count == member.index)
                ++runs.back().count;
            else
                runs.push_back(chunk_of(member));
        }
        return runs;
    }

    int ranks_;
    std::vector<Group> nodes_;
    Rank root_node_{0};
};

Schedule up(int ranks) { return binomial_reduce(ranks, Rank{0}); }
Schedule down(int ranks) { return binomial_broadcast(ranks, Rank{0}); }

}  // namespace

// Add up inside each node, then among one leader per node, then tell the node: what crosses the
// network is one message per node, not per rank. Best where the network is much slower than memory.
Schedule two_level_all_reduce(int ranks, const Placement& placement) {
    const TwoLevels levels{ranks, placement};
    return levels.inside(up).then(levels.across(ring_all_reduce)).then(levels.inside(down));
}

Schedule two_level_broadcast(int ranks, Rank root, const Placement& placement) {
    const TwoLevels levels{ranks, placement, root};
    return levels.across([&](int nodes) { return binomial_broadcast(nodes, levels.root_node()); })
        .then(levels.inside(down));
}

Schedule two_level_reduce(int ranks, Rank root, const Placement& placement) {
    return mirrored(two_level_broadcast(ranks, root, placement), Action::reduce);
}

// Leaders get the blocks of their node and hand them out.
Schedule two_level_scatter(int ranks, Rank root, const Placement& placement) {
    const TwoLevels levels{ranks, placement, root};
    return levels
        .blocks_across([&](int nodes) { return binomial_scatter(nodes, levels.root_node()); })
        .then(levels.blocks_inside([](int size) { return binomial_scatter(size, Rank{0}); }));
}

Schedule two_level_gather(int ranks, Rank root, const Placement& placement) {
    return mirrored(two_level_scatter(ranks, root, placement), Action::copy);
}

Schedule two_level_all_gather(int ranks, const Placement& placement) {
    const TwoLevels levels{ranks, placement};
    return levels.blocks_inside([](int size) { return binomial_gather(size, Rank{0}); })
        .then(levels.blocks_across(ring_all_gather))
        .then(levels.inside(down));
}

Schedule two_level_reduce_scatter(int ranks, const Placement& placement) {
    const TwoLevels levels{ranks, placement};
    return levels.inside(up)
        .then(levels.blocks_across(ring_reduce_scatter))
        .then(levels.blocks_inside([](int size) { return binomial_scatter(size, Rank{0}); }));
}

}  // namespace tutti
