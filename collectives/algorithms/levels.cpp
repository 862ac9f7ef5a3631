// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <memory>
#include <string>

#include "base/configuration.hpp"
#include "base/error.hpp"
#include "base/index.hpp"
#include "collectives/algorithms/building_blocks.hpp"
#include "collectives/schedule/compose.hpp"
#include "topology/placement/placement.hpp"

namespace tutti {

namespace {

constexpr Rank first_member{0};

// Drops what a rank would receive although it has sent or forwarded it in `before`, or starts with
// it: block r on rank r.
Schedule without_known(const Schedule& schedule, const Schedule& before) {
    std::vector<std::vector<Rank>> known(as_size(schedule.ranks()));
    for (const Rank rank : all_ranks(schedule.ranks())) at(known, rank).push_back(rank);
    for (int step = 0; step < before.steps(); ++step)
        before.visit(step, [&](const Transfer& transfer) {
            for (int chunk = 0; chunk < transfer.chunks.count; ++chunk)
                at(known, transfer.to).push_back(Rank{transfer.chunks.first + chunk});
        });
    const auto runs = std::make_shared<std::vector<std::vector<Chunks>>>();
    for (const std::vector<Rank>& blocks : known) runs->push_back(runs_of(blocks));
    return Schedule({schedule.ranks(), schedule.chunks(), schedule.steps()},
                    [schedule, runs](int step, Step& out) {
                        schedule.visit(
                            step,
                            [&](Transfer transfer) {
                                int next = transfer.chunks.first;
                                const int end = next + transfer.chunks.count;
                                const auto send_up_to = [&](int chunk) {
                                    transfer.chunks = {next, std::max(chunk - next, 0)};
                                    out.add(transfer);
                                };
                                for (const Chunks run : at(*runs, transfer.to)) {
                                    send_up_to(std::min(run.first, end));
                                    next = std::max(next, run.first + run.count);
                                }
                                send_up_to(end);
                            },
                            out.only());
                    });
}

// The tree of tree_all_gather, where ranks do not receive again what they have forwarded.
Schedule tree_all_gather_once(int ranks) {
    const Schedule collected = tree_gather(ranks, first_member);
    return collected.then(
        without_known(tree_broadcast(ranks, first_member).finer(ranks), collected));
}

// An algorithm of one level: among the members of a group, whose first one is the root. Reduce,
// gather and reduce_scatter are these backwards, so an all_gather sends a rank each block once.
struct LevelAlgorithm {
    std::string_view name;
    Schedule (*broadcast)(int ranks);
    Schedule (*scatter)(int ranks);
    Schedule (*all_reduce)(int ranks);
    Schedule (*all_gather)(int ranks);
    // Among the groups of the largest level, all members take part, not only leaders.
    bool uses_all_members = false;
};

constexpr LevelAlgorithm level_algorithms[] = {
    {"tree", [](int p) { return tree_broadcast(p, first_member); },
     [](int p) { return tree_scatter(p, first_member); },
     [](int p) { return tree_all_reduce(p, 2); }, tree_all_gather_once},
    {"ring", [](int p) { return chain_broadcast(p, first_member); },
     [](int p) { return ring_scatter(p, first_member); }, ring_all_reduce, ring_all_gather},
    {"butterfly", [](int p) { return tree_broadcast(p, first_member); },
     [](int p) { return butterfly_scatter(p, first_member); },
     [](int p) { return butterfly_all_reduce(p, 2); },
     [](int p) { return bruck_all_gather(p, 2); }},
    {"one-shot", [](int p) { return linear_broadcast(p, first_member); },
     [](int p) { return linear_scatter(p, first_member); }, one_shot_all_reduce,
     one_shot_all_gather},
    {"multi-rail", [](int p) { return tree_broadcast(p, first_member); },
     [](int p) { return linear_scatter(p, first_member); }, ring_all_reduce, ring_all_gather,
     /*uses_all_members=*/true},
};
static_assert(std::ranges::equal(level_algorithms, level_algorithm_names, {},
                                 &LevelAlgorithm::name),
              "name a level's algorithm here and in level_algorithm_names, in the same order");

const LevelAlgorithm& level_algorithm_called(std::string_view name) {
    return *std::ranges::find(level_algorithms, name, &LevelAlgorithm::name);
}

// Collectives level by level: inside all innermost groups at the same time, then among the leaders
// of these groups inside every group of the next level, and so on up to the leaders of the
// outermost groups. The root leads every group that contains it, and leaders come first in their
// group.
class Levels {
public:
    Levels(int ranks, const LevelPlan& plan, Rank root = first_member)
        : ranks_(ranks), root_(root), algorithms_(plan.algorithms) {
        std::vector<Member> members;
        for (Rank rank : all_ranks(ranks)) members.push_back({rank, {rank}});
        for (const Grouping& grouping : plan.nesting) members = gather(members, grouping);
        levels_.push_back({members});
        put_root_first(levels_.back().front());
    }

    int top() const { return static_cast<int>(levels_.size()) - 1; }

    // Returns the algorithm of a level; `otherwise` where it is automatic.
    const LevelAlgorithm& algorithm(int level, std::string_view otherwise) const {
        int code = algorithms_ & 15;
        for (int larger = top(), rest = algorithms_; larger > level && (rest >> 4) != 0; --larger) {
            rest >>= 4;
            code = rest & 15;
        }
        if (code == 0) return level_algorithm_called(otherwise);
        if (code > std::ssize(level_algorithms))
            throw Error("this build has no algorithm of levels with the number " +
                        std::to_string(code) + "; use --level-algorithms auto");
        return at(level_algorithms, code - 1);
    }

    // Whether the top's algorithm has a part for all members of the outermost groups.
    bool uses_all_members() const { return top() > 0 && algorithm(top(), "tree").uses_all_members; }
    // The number of levels that work inside groups, before the top's algorithm.
    int inner() const { return uses_all_members() ? top() - 1 : top(); }

    // The whole message, cut the same way in every group of the level.
    Schedule whole(int level, const Builder& among) const {
        return on_each(ranks_, 1, groups(level), among);
    }

    // One block per rank: a member sends and receives the blocks of all ranks that it leads.
    Schedule blocks(int level, const Builder& among) const {
        std::vector<Group> groups = this->groups(level);
        for (std::size_t group = 0; group < groups.size(); ++group)
            for (const Member& member : level_at(level)[group])
                groups[group].pieces.push_back(runs_of(member.led));
        return on_each(ranks_, ranks_, groups, among);
    }

    // All members of the outermost groups, with these groups as nodes.
    using OfMembers = std::function<Schedule(int members, Rank root, const Placement& nodes)>;
    Schedule whole_by_all(const OfMembers& among) const { return by_all(1, among, {}); }
    Schedule blocks_by_all(const OfMembers& among) const {
        std::vector<std::vector<Chunks>> pieces;
        for (const auto& group : level_at(top() - 1))
            for (const Member& member : group) pieces.push_back(runs_of(member.led));
        return by_all(ranks_, among, pieces);
    }

private:
    // A member of a group, and the ranks of the levels below that it leads.
    struct Member {
        Rank leader;
        std::vector<Rank> led;
    };
    using Groups = std::vector<std::vector<Member>>;

    const Groups& level_at(int level) const { return at(levels_, level); }

    // Makes a level of the members' groups; returns the members of the next level, one for each
    // group.
    std::vector<Member> gather(const std::vector<Member>& members, const Grouping& grouping) {
        std::vector<std::size_t> group_of(static_cast<std::size_t>(ranks_));
        for (std::size_t group = 0; group < grouping.size(); ++group)
            for (const Rank rank : grouping[group]) at(group_of, rank) = group;
        Groups& level = levels_.emplace_back(grouping.size());
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

    Schedule by_all(int chunks, const OfMembers& among,
                    const std::vector<std::vector<Chunks>>& pieces) const {
        Group all{.members = {}, .pieces = pieces};
        std::vector<int> node_of_member;
        Rank root = first_member;
        const Groups& groups = level_at(top() - 1);
        for (std::size_t group = 0; group < groups.size(); ++group)
            for (const Member& member : groups[group]) {
                if (member.leader == root_) root = Rank{int_size(all.members)};
                all.members.push_back(member.leader);
                node_of_member.push_back(static_cast<int>(group));
            }
        const Placement nodes = Placement::by_label(node_of_member);
        return on_each(ranks_, chunks, {all},
                       [&](int members) { return among(members, root, nodes); });
    }

    int ranks_;
    Rank root_;
    int algorithms_;
    std::vector<Groups> levels_;  // innermost first
};

Schedule nothing_to_do(int ranks) {
    return Schedule({ranks, 1, 0}, [](int, Step&) {});
}

// Runs the phases one after the other, from the innermost level outwards or back.
template <class Phase>
Schedule outwards(Schedule begin, const Levels& levels, Phase&& phase) {
    for (int level = 0; level < levels.inner(); ++level) begin = begin.then(phase(level));
    return begin;
}
template <class Phase>
Schedule inwards(Schedule begin, const Levels& levels, Phase&& phase) {
    for (int level = levels.inner() - 1; level >= 0; --level) begin = begin.then(phase(level));
    return begin;
}

// The phases of one level, among the members of all its groups. Blocks go straight to the leader,
// because a member that forwarded them would send them across the level's border once more.
Schedule down(const Levels& levels, int level) {
    return levels.whole(level, levels.algorithm(level, "tree").broadcast);
}
Schedule up(const Levels& levels, int level) {
    const auto down = levels.algorithm(level, "tree").broadcast;
    return levels.whole(level,
                        [=](int members) { return mirrored(down(members), Action::reduce); });
}
Schedule deal(const Levels& levels, int level) {
    return levels.blocks(level, levels.algorithm(level, "one-shot").scatter);
}
Schedule collect(const Levels& levels, int level) {
    const auto deal = levels.algorithm(level, "one-shot").scatter;
    return levels.blocks(level, [=](int members) { return mirrored(deal(members), Action::copy); });
}

}  // namespace

// Adds up inside each group, level by level, then among the outermost leaders, then broadcasts
// inside the groups: one message per group, not per rank, crosses a level's border; each of H nodes
// sends 2(H-1)/H of the message if the top's algorithm is bandwidth-optimal. Cut into segments, all
// levels are busy at once. Best if each level is much slower than the one inside.
Schedule levels_all_reduce(int ranks, const LevelPlan& plan) {
    const Levels levels{ranks, plan};
    const int top = levels.top();
    const Schedule sums =
        outwards(nothing_to_do(ranks), levels, [&](int level) { return up(levels, level); });
    const Schedule among = plan.all_reduce ? levels.whole(top, plan.all_reduce)
                           : levels.uses_all_members()
                               ? levels.whole_by_all([](int members, Rank, const Placement& nodes) {
                                     return multi_rail_all_reduce(members, nodes);
                                 })
                               : levels.whole(top, levels.algorithm(top, "ring").all_reduce);
    return inwards(sums.then(among), levels, [&](int level) { return down(levels, level); });
}

Schedule levels_broadcast(int ranks, Rank root, const LevelPlan& plan) {
    const Levels levels{ranks, plan, root};
    const Schedule among = levels.uses_all_members() ? levels.whole_by_all(multi_rail_broadcast)
                                                     : down(levels, levels.top());
    return inwards(among, levels, [&](int level) { return down(levels, level); });
}

Schedule levels_reduce(int ranks, Rank root, const LevelPlan& plan) {
    return mirrored(levels_broadcast(ranks, root, plan), Action::reduce);
}

// Leaders receive the blocks of their group and distribute them. There are no rails: the root sends
// all blocks itself.
Schedule levels_scatter(int ranks, Rank root, const LevelPlan& plan) {
    const Levels levels{ranks, plan, root};
    Schedule all = nothing_to_do(ranks);
    for (int level = levels.top(); level >= 0; --level) all = all.then(deal(levels, level));
    return all;
}

Schedule levels_gather(int ranks, Rank root, const LevelPlan& plan) {
    return mirrored(levels_scatter(ranks, root, plan), Action::copy);
}

// Leaders collect the blocks of their group, exchange them, and send their members what these lack:
// each group receives each block of the others once.
Schedule levels_all_gather(int ranks, const LevelPlan& plan) {
    const Levels levels{ranks, plan};
    const int top = levels.top();
    const Schedule collected = outwards(Schedule({ranks, ranks, 0}, [](int, Step&) {}), levels,
                                        [&](int level) { return collect(levels, level); });
    const Schedule among =
        levels.uses_all_members()
            ? levels.blocks_by_all([](int members, Rank, const Placement& nodes) {
                  return multi_rail_all_gather(members, nodes);
              })
            : levels.blocks(top, levels.algorithm(top, "ring").all_gather);
    const Schedule spread = inwards(Schedule({ranks, ranks, 0}, [](int, Step&) {}), levels,
                                    [&](int level) { return down(levels, level); });
    return collected.then(among).then(without_known(spread, collected));
}

// The all_gather backwards: a group keeps its own blocks, and adds the sums of the others to them.
Schedule levels_reduce_scatter(int ranks, const LevelPlan& plan) {
    return mirrored(levels_all_gather(ranks, plan), Action::reduce);
}

// Adds up whole vectors before it distributes blocks: more bytes, in the order of additions that
// two-level and three-level have always had.
Schedule levels_summed_reduce_scatter(int ranks, const LevelPlan& plan) {
    const Levels levels{ranks, plan};
    const Schedule sums =
        outwards(nothing_to_do(ranks), levels, [&](int level) { return up(levels, level); });
    return inwards(sums.then(levels.blocks(levels.top(), ring_reduce_scatter)), levels,
                   [&](int level) { return deal(levels, level); });
}

}  // namespace tutti
