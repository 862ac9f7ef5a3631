// SPDX-License-Identifier: Apache-2.0
// The algorithm levels on machines of any depth: proofs, and what crosses each level.
#include <gtest/gtest.h>

#include <random>

#include "base/index.hpp"
#include "collectives/algorithms/catalog.hpp"
#include "collectives/schedule/crossing.hpp"
#include "collectives/schedule/verify.hpp"
#include "tests/topology/shared_data.hpp"
#include "topology/import/import.hpp"
#include "topology/placement/order.hpp"
#include "topology/routes/rings.hpp"

namespace tutti {
namespace {

using enum Collective;

constexpr Collective of_levels[] = {all_reduce, reduce_scatter, all_gather, broadcast,
                                    reduce,     scatter,        gather};

int value_of(const char* knob, const char* words) {
    const auto row = std::ranges::find(knobs, std::string_view(knob), &Knob::name);
    return static_cast<int>(row->value_of_words(words).value());
}
int algorithms(const char* words) { return value_of("level-algorithms", words); }

// Places ranks at random in one to four levels, which divide each other unequally. Neighbours may
// be far apart.
class RandomTrees {
public:
    explicit RandomTrees(unsigned seed) : random_(seed) {}

    int below(int end) { return static_cast<int>(random_() % static_cast<unsigned>(end)); }

    Placement tree(int ranks) {
        std::map<Level, std::vector<int>> labels;
        const bool is_in_order = below(2) == 0;
        for (int levels = 1 + below(4); std::ssize(labels) < levels;) {
            std::vector<int>& label_of_rank = labels[all_levels[as_size(below(6))]];
            const int parts = 1 + below(5);
            for (int rank = std::ssize(label_of_rank) == 0 ? 0 : ranks; rank < ranks; ++rank)
                label_of_rank.push_back(is_in_order ? rank * parts / ranks : below(parts));
        }
        return Placement::of_levels(ranks, labels);
    }

    // Any levels and algorithms; none of the values is 0 too rarely.
    Configuration configuration() {
        Configuration one;
        one.levels = below(3) == 0 ? 0 : 1 + below(63);
        for (int words = below(4), place = 0; place < words; ++place)
            one.level_algorithms |= (1 + below(5)) << 4 * place;
        return one;
    }

private:
    std::minstd_rand random_;
};

Schedule built(const Job& job) { return find_algorithm(job.collective, "levels").build(job); }

template <class Body>
void for_each_root(Job job, Body&& body) {
    const int roots = has_root(job.collective) ? job.ranks : 1;
    for (job.root = {0}; job.root.index < roots; ++job.root.index) body(job);
}

TEST(Levels, DeliverOnRandomTreesWithAnyLevelsAndAlgorithms) {
    RandomTrees random(1);
    for (int ranks = 1; ranks <= 64; ++ranks)
        for (const Collective collective : of_levels)
            for_each_root(
                {.collective = collective,
                 .ranks = ranks,
                 .configuration = random.configuration(),
                 .placement = random.tree(ranks)},
                [&](Job job) {
                    job.segments = 1 + job.root.index % 2;
                    EXPECT_EQ(find_fault(built(job), {collective, ranks, job.root}), std::nullopt)
                        << name_of(collective) << ", " << ranks << " ranks, root " << job.root.index
                        << ", " << to_string(job.configuration);
                });
}

std::vector<RankGroups> groups_of(const Placement& placement) {
    std::vector<RankGroups> groups;
    for (const PlacementLevel& level : placement.levels()) groups.push_back(level.groups);
    return groups;
}

enum class Bounded { vectors, messages };

// Each level is crossed by no more than the least that any algorithm sends. Blocks that leaders
// forward to their members, or from them, cross smaller levels once more.
void expect_least(const Job& job, Bounded bounded) {
    const CollectiveSpec spec{job.collective, job.ranks, job.root};
    const std::vector<RankGroups> groups = groups_of(job.placement);
    const std::vector<Counts> counts = count_crossings(built(job), spec, groups);
    for (std::size_t level = 0; level < groups.size(); ++level) {
        const LeastCrossing least = least_crossing(spec, groups[level]);
        const auto where = [&] {
            return testing::Message()
                   << name_of(job.collective) << ", " << job.ranks << " ranks, root "
                   << job.root.index << ", " << to_string(job.configuration) << ", "
                   << groups[level].size() << " " << name_of(job.placement.levels()[level].level);
        };
        const double blocks = spec.blocks() == 1 ? 1 : job.ranks;
        const bool is_forwarded = job.collective == scatter || job.collective == gather;
        if (!is_forwarded || level + 1 == groups.size() || groups[level + 1].size() == 1)
            EXPECT_NEAR(vectors_in(counts[level]), least.total / blocks, 1e-9 * job.ranks)
                << where();
        else
            EXPECT_GE(vectors_in(counts[level]), least.total / blocks) << where();
        if (bounded == Bounded::messages) {
            EXPECT_EQ(counts[level].messages, least.messages) << where();
        }
    }
}

TEST(Levels, CrossEachLevelOfRandomTreesWithTheLeastBytes) {
    RandomTrees random(2);
    for (int ranks = 1; ranks <= 64; ++ranks)
        for (const Collective collective : of_levels) {
            const Placement placement = random.tree(ranks);
            for_each_root({.collective = collective, .ranks = ranks, .placement = placement},
                          [](const Job& job) { expect_least(job, Bounded::vectors); });
        }
}

// Trees and direct transfers among the leaders send one message to, or from, each group.
TEST(Levels, CrossEachLevelOfRandomTreesInTheFewestMessages) {
    RandomTrees random(3);
    for (int ranks = 1; ranks <= 64; ++ranks)
        for (const Collective collective : {all_reduce, broadcast, reduce, scatter, gather}) {
            const bool has_blocks = collective == scatter || collective == gather;
            Job job{.collective = collective, .ranks = ranks, .placement = random.tree(ranks)};
            for (const char* words : {"tree", "tree+one-shot", "one-shot+tree"}) {
                if (has_blocks || (collective == all_reduce && words[0] == 'o')) words = "tree";
                job.configuration.level_algorithms = has_blocks ? 0 : algorithms(words);
                for_each_root(job, [](const Job& one) { expect_least(one, Bounded::messages); });
            }
        }
}

// Rails share what crosses the largest level.
TEST(Levels, CrossEachLevelWithTheLeastBytesByRails) {
    RandomTrees random(4);
    for (int ranks = 1; ranks <= 64; ++ranks) {
        const Placement placement = Placement::in_nodes_of(ranks, 1 + random.below(9));
        for (const Collective collective : {all_reduce, broadcast, reduce}) {
            Job job{.collective = collective, .ranks = ranks, .placement = placement};
            job.configuration.level_algorithms = algorithms("multi-rail+tree");
            for_each_root(job, [](const Job& one) { expect_least(one, Bounded::vectors); });
        }
    }
}

// 2 x EPYC 9654: 12 caches of 8 cores in each package. Grace-Hopper: 4 processors of 72 cores.
TEST(Levels, CrossEachLevelOfDescribedMachinesWithTheLeastBytes) {
    const PartCount epyc[] = {
        {Level::rack, 2}, {Level::host, 32}, {Level::package, 2}, {Level::cache, 12}};
    const PartCount grace_hopper[] = {{Level::host, 16}, {Level::package, 4}};
    for (const Placement& placement :
         {Placement::in_parts(epyc, 8), Placement::in_parts(grace_hopper, 72)})
        for (const Collective collective : {all_reduce, broadcast, reduce, scatter, gather}) {
            int ranks = 0;
            for (const auto& node : placement.nodes()) ranks += int_size(node);
            for (const int root : {0, ranks / 2 + 5})
                expect_least({.collective = collective,
                              .ranks = ranks,
                              .root = {has_root(collective) ? root : 0},
                              .placement = placement},
                             Bounded::vectors);
        }
    const PartCount four_hosts[] = {{Level::host, 4}, {Level::package, 2}, {Level::cache, 12}};
    for (const Collective collective : {all_gather, reduce_scatter})
        expect_least({.collective = collective,
                      .ranks = 768,
                      .placement = Placement::in_parts(four_hosts, 8)},
                     Bounded::vectors);
}

TEST(Levels, CrossEachLevelOfH100HostsWithTheLeastBytes) {
    const auto folder = shared_topology();
    if (!folder) GTEST_SKIP() << "no descriptions of real machines here";
    const Machine machine =
        copies_of(read_machine(*folder / "nccl" / "oci-H100-topology.xml").hosts.front(), 16);
    const Placement placement = placement_of(bindings_that_fill(machine));
    EXPECT_EQ(placement.nodes().size(), 16U);
    EXPECT_EQ(placement.islands().size(), 32U);  // 4 GPUs at each of two processors
    for (const Collective collective : of_levels)
        expect_least({.collective = collective, .ranks = 128, .placement = placement},
                     Bounded::vectors);
}

std::vector<std::vector<Transfer>> all_steps_of(const Schedule& schedule) {
    std::vector<std::vector<Transfer>> steps(as_size(schedule.steps()));
    for (int step = 0; step < schedule.steps(); ++step)
        schedule.visit(step, [&](const Transfer& one) { at(steps, step).push_back(one); });
    return steps;
}

// The names of two and three levels choose levels and algorithms.
TEST(Levels, HaveShorterNamesForTwoAndThree) {
    const PartCount parts[] = {
        {Level::rack, 2}, {Level::host, 2}, {Level::numa, 2}, {Level::cache, 2}};
    for (const Collective collective : of_levels) {
        if (collective == reduce_scatter) continue;  // adds up in another order
        Job job{.collective = collective, .ranks = 48, .placement = Placement::in_parts(parts, 3)};
        const bool has_root_and_blocks = collective == scatter || collective == gather;
        job.configuration.level_algorithms = algorithms(
            has_root_and_blocks || collective == broadcast || collective == reduce ? "tree"
                                                                                   : "ring+tree");
        for (const auto& [name, levels] :
             {std::pair{"two-level", "host"}, {"three-level", "numa+host"}}) {
            job.configuration.levels = value_of("levels", levels);
            EXPECT_EQ(all_steps_of(built(job)),
                      all_steps_of(find_algorithm(collective, name).build(job)))
                << name << " " << name_of(collective);
        }
    }
}

// Levels that divide nothing, or nothing more than others, are left out.
TEST(Levels, UseOnlyLevelsThatDivideRanks) {
    std::vector<int> hosts, each;
    for (int rank = 0; rank < 12; ++rank) {
        hosts.push_back(rank / 4);
        each.push_back(rank);
    }
    const std::vector<int> one(12, 0);
    const Placement deep = Placement::of_levels(12, {{Level::rack, one},
                                                     {Level::host, hosts},
                                                     {Level::package, one},
                                                     {Level::numa, one},
                                                     {Level::cache, each}});
    for (const Collective collective : of_levels)
        for (const int chosen : {0, algorithms("multi-rail")}) {
            Job job{.collective = collective, .ranks = 12, .placement = deep};
            job.configuration.level_algorithms = chosen;
            Job flat = job;
            flat.placement = Placement::by_label(hosts);
            flat.configuration.levels = value_of("levels", "host");
            EXPECT_EQ(all_steps_of(built(job)), all_steps_of(built(flat))) << name_of(collective);
        }
}

TEST(Levels, RefuseAlgorithmsThatThisBuildLacks) {
    Job job{.ranks = 8, .placement = Placement::in_nodes_of(8, 4)};
    job.configuration.level_algorithms = 15;
    EXPECT_THROW(built(job), Error);
}

TEST(Levels, RefuseLevelsThatTheRanksDoNotKnow) {
    Job job{.ranks = 8, .placement = Placement::in_nodes_of(8, 4)};
    const Algorithm& levels = find_algorithm(all_reduce, "levels");
    EXPECT_EQ(levels.refuses(job), std::nullopt);
    job.configuration.levels = value_of("levels", "host");
    EXPECT_EQ(levels.refuses(job), std::nullopt);
    job.configuration.levels = value_of("levels", "cache+numa+host");
    const auto refusal = levels.refuses(job);
    ASSERT_TRUE(refusal);
    EXPECT_NE(refusal->find("(cache, numa)"), std::string::npos) << *refusal;
    job.placement = job.placement.with_islands_of(2);
    EXPECT_NE(levels.refuses(job)->find("(cache)"), std::string::npos);
    int rows = 0;
    for (const Collective collective : all_collectives())
        if (const Algorithm* row = algorithm_called(collective, "levels")) {
            EXPECT_TRUE(row->refuses(job)) << name_of(collective);
            ++rows;
        }
    EXPECT_EQ(rows, 8);
}

// Two hosts of two caches with two ranks each; a linear broadcast from rank 1, counted by hand.
TEST(Crossings, CountVectorsAndMessagesOfEachLevel) {
    const PartCount parts[] = {{Level::host, 2}, {Level::cache, 2}};
    const Placement placement = Placement::in_parts(parts, 2);
    const Job job{.collective = broadcast, .ranks = 8, .root = {1}, .placement = placement};
    const auto counts = count_crossings(find_algorithm(broadcast, "linear").build(job),
                                        {broadcast, 8, {1}}, groups_of(placement));
    ASSERT_EQ(counts.size(), 2U);
    EXPECT_EQ(vectors_in(counts[0]), 6);  // caches
    EXPECT_EQ(vectors_in(counts[1]), 4);  // hosts
    EXPECT_EQ(counts[0].messages, 6);
    EXPECT_EQ(counts[1].messages, 4);
    EXPECT_EQ(counts[1].busiest(), 4);
    EXPECT_THROW(count_crossings(find_algorithm(broadcast, "linear").build(job),
                                 {broadcast, 8, {1}}, groups_of(placement), 6),
                 Error);
}

// G groups: G - 1 messages to all or from all, 2 (G - 1) if all depend on all.
TEST(Crossings, NeedAMessageForEachGroupThatMustKnowMore) {
    const RankGroups groups = {{{0}, {1}}, {{2}, {4}}, {{3}}};
    for (const Collective collective : {broadcast, reduce, scatter, gather})
        EXPECT_EQ(least_crossing({collective, 5, {2}}, groups).messages, 2);
    for (const Collective collective :
         {all_reduce, all_gather, reduce_scatter, all_to_all, barrier})
        EXPECT_EQ(least_crossing({collective, 5}, groups).messages, 4);
    EXPECT_EQ(least_crossing({scan, 5}, groups).messages, 2);  // the first group needs none
    EXPECT_EQ(least_crossing({all_reduce, 5}, {{{0}, {1}, {2}, {3}, {4}}}).messages, 0);
}

}  // namespace
}  // namespace tutti
