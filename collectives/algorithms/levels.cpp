// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "base/index.hpp"
#include "collectives/algorithms/building_blocks.hpp"
#include "collectives/schedule/compose.hpp"
#include "topology/placement/placement.hpp"

namespace tutti {
namespace {

// Collectives level by level: inside all innermost groups at the same time, then among the leaders
// of these groups inside every group of the next level, and so on up to the leaders of the
// outermost groups. The root leads every group that contains it, and leaders come first in their
// group.
class Levels {
public:
    Levels(int ranks, const Nesting& nesting, Rank root = {0}) : ranks_(ranks), root_(root) {
        std::vector<Member> members;
        for (Rank rank : all_ranks(ranks)) members.push_back({rank, {rank}});
        for (const Grouping& grouping : nesting) members = gather(members, grouping);
        levels_.push_back({members});
        put_root_first(levels_.back().front());
    }

    int top() const { return static_cast<int>(levels_.size()) - 1; }

    // The whole message, cut the same way in every group of the level.
    Schedule whole(int level, const Builder& inner) const {
        return on_each(ranks_, 1, groups(level), inner);
    }

    // One block per rank: a member sends and receives the blocks of all ranks that it leads.
    Schedule blocks(int level, const Builder& inner) const {
        std::vector<Group> groups = this->groups(level);
        for (std::size_t group = 0; group < groups.size(); ++group)
            for (const Member& member : level_at(level)[group])
                groups[group].pieces.push_back(runs_of(member.led));
        return on_each(ranks_, ranks_, groups, inner);
    }

private:
    // A member of a group, and the ranks of the levels below that it leads.
    struct Member {
        Rank leader;
        std::vector<Rank> led;
    };
    using Level = std::vector<std::vector<Member>>;  // its groups

    const Level& level_at(int level) const { return at(levels_, level); }

    // Makes a level of the members' groups; returns the members of the next level, one for each
    // group.
    std::vector<Member> gather(const std::vector<Member>& members, const Grouping& grouping) {
        std::vector<std::size_t> group_of(static_cast<std::size_t>(ranks_));
        for (std::size_t group = 0; group < grouping.size(); ++group)
            for (const Rank rank : grouping[group]) at(group_of, rank) = group;
        Level& level = levels_.emplace_back(grouping.size());
        for (const Member& member : members) level[at(group_of, member.leader)].push_back(member);
        std::vector<Member> next;
        for (auto& group : level) {
            put_root_first(group);
            Member& of_group = next.emplace_back(Member{group.front().leader, {}});
            for (const Member& member : group)
                of_group.led.insert(of_group.led.end(), member.led.begin(), member.led.end());
        }
        return next;
    }

    void put_root_first(std::vector<Member>& group) const {
        const auto root = std::ranges::find(group, root_, &Member::leader);
        if (root != group.end()) std::rotate(group.begin(), root, root + 1);
    }

    std::vector<Group> groups(int level) const {
        std::vector<Group> groups;
        for (const auto& members : level_at(level)) {
            Group& group = groups.emplace_back();
            for (const Member& member : members) group.members.push_back(member.leader);
        }
        return groups;
    }

    int ranks_;
    Rank root_;
    std::vector<Level> levels_;  // innermost first
};

Schedule nothing_to_do(int ranks) {
    return Schedule({ranks, 1, 0}, [](int, Step&) {});
}

// Runs the phases one after the other, from the innermost level outwards or back.
template <class Phase>
Schedule outwards(Schedule begin, const Levels& levels, Phase&& phase) {
    for (int level = 0; level < levels.top(); ++level) begin = begin.then(phase(level));
    return begin;
}
template <class Phase>
Schedule inwards(Schedule begin, const Levels& levels, Phase&& phase) {
    for (int level = levels.top() - 1; level >= 0; --level) begin = begin.then(phase(level));
    return begin;
}

Schedule up(int ranks) { return tree_reduce(ranks, Rank{0}); }
Schedule down(int ranks) { return tree_broadcast(ranks, Rank{0}); }
Schedule deal(int ranks) { return tree_scatter(ranks, Rank{0}); }
Schedule collect(int ranks) { return tree_gather(ranks, Rank{0}); }

}  // namespace

// Adds up inside each group, level by level, then among the outermost leaders, then broadcasts
// inside the groups: one message per group, not per rank, crosses a level's border; each of H nodes
// sends 2(H-1)/H of the message if `among_leaders` is bandwidth-optimal. Cut into segments, all
// levels are busy at once. Best if each level is much slower than the one inside.
Schedule levels_all_reduce(int ranks, const Nesting& nesting, const Builder& among_leaders) {
    const Levels levels{ranks, nesting};
    const Schedule sums =
        outwards(nothing_to_do(ranks), levels, [&](int level) { return levels.whole(level, up); });
    return inwards(sums.then(levels.whole(levels.top(), among_leaders)), levels,
                   [&](int level) { return levels.whole(level, down); });
}

Schedule levels_broadcast(int ranks, Rank root, const Nesting& nesting) {
    const Levels levels{ranks, nesting, root};
    return inwards(levels.whole(levels.top(), down), levels,
                   [&](int level) { return levels.whole(level, down); });
}

Schedule levels_reduce(int ranks, Rank root, const Nesting& nesting) {
    return mirrored(levels_broadcast(ranks, root, nesting), Action::reduce);
}

// Leaders receive the blocks of their group and distribute them.
Schedule levels_scatter(int ranks, Rank root, const Nesting& nesting) {
    const Levels levels{ranks, nesting, root};
    return inwards(levels.blocks(levels.top(), deal), levels,
                   [&](int level) { return levels.blocks(level, deal); });
}

Schedule levels_gather(int ranks, Rank root, const Nesting& nesting) {
    return mirrored(levels_scatter(ranks, root, nesting), Action::copy);
}

Schedule levels_all_gather(int ranks, const Nesting& nesting) {
    const Levels levels{ranks, nesting};
    const Schedule collected = outwards(nothing_to_do(ranks), levels,
                                        [&](int level) { return levels.blocks(level, collect); });
    return without_returns(inwards(collected.then(levels.blocks(levels.top(), ring_all_gather)),
                                   levels, [&](int level) { return levels.whole(level, down); }),
                           {Collective::all_gather, ranks});
}

Schedule levels_reduce_scatter(int ranks, const Nesting& nesting) {
    const Levels levels{ranks, nesting};
    const Schedule sums =
        outwards(nothing_to_do(ranks), levels, [&](int level) { return levels.whole(level, up); });
    return inwards(sums.then(levels.blocks(levels.top(), ring_reduce_scatter)), levels,
                   [&](int level) { return levels.blocks(level, deal); });
}

}  // namespace tutti
