// SPDX-License-Identifier: Apache-2.0
#include "workloads/timing/level_shares.hpp"

#include <gtest/gtest.h>

#include <array>
#include <numeric>

#include "../collectives/checked_plan.hpp"
#include "collectives/schedule/crossing.hpp"

namespace tutti {
namespace {

Schedule built(std::string_view name, Collective collective, const Placement& placement,
               int ranks) {
    return build_in_order(
        find_algorithm(collective, name),
        {.collective = collective, .ranks = ranks, .placement = placement, .order = {}});
}

const Placement two_hosts_of_two_caches =
    Placement::in_parts(std::array{PartCount{Level::host, 2}, PartCount{Level::cache, 2}}, 2);

// A tree inside each host, then one between the leaders: 2 messages of 64 KiB between the hosts.
TEST(LevelShares, AreOfTheSmallestLevelThatBothEndsShare) {
    const Placement& placement = two_hosts_of_two_caches;
    const Call call{.collective = Collective::broadcast, .count = 16384};
    const auto counted =
        count_levels(built("levels", call.collective, placement, 8), call, placement);
    ASSERT_TRUE(counted);
    const std::vector<LevelShare> expected{
        {Level::cache, 4 * 65536, 4}, {Level::host, 2 * 65536, 2}, {std::nullopt, 65536, 1}};
    EXPECT_EQ(counted->shares, expected);
}

// The share of a level and those of all larger ones cross the parts of the level below.
TEST(LevelShares, AgreeWithTheCrossingsOfEachLevel) {
    const Placement& placement = two_hosts_of_two_caches;
    std::vector<RankGroups> groups{each_alone(8)};
    for (const PlacementLevel& level : placement.levels()) groups.push_back(level.groups);
    for (const Algorithm& algorithm : catalog()) {
        const Job job{.collective = algorithm.collective, .ranks = 8, .placement = placement};
        if (!has_buffers(algorithm.collective) || algorithm.refuses(job)) continue;
        const Call call{.collective = algorithm.collective, .count = 840 * 1024};
        const CollectiveSpec spec{call.collective, 8};
        const Schedule schedule = built(algorithm.name, call.collective, placement, 8);
        const auto counted = count_levels(schedule, call, placement);
        ASSERT_TRUE(counted) << algorithm.name;
        const auto crossings = count_crossings(schedule, spec, groups);
        std::int64_t bytes = 0, messages = 0;
        for (std::size_t i = groups.size(); i-- > 0;) {
            bytes += counted->shares[i].bytes;
            messages += counted->shares[i].messages;
            EXPECT_NEAR(static_cast<double>(bytes),
                        vectors_in(crossings[i]) * static_cast<double>(total_bytes(call, 8)),
                        0.001 * static_cast<double>(bytes))
                << algorithm.name << " " << i;
            EXPECT_EQ(messages, crossings[i].messages) << algorithm.name << " " << i;
        }
    }
}

TEST(LevelShares, OfAStepAreInAnyOrder) {
    const Schedule schedule{{.ranks = 4, .chunks = 1, .steps = 2}, [](int step, Step& out) {
                                if (step == 1) return out.copy({whole_message, {2}, {3}});
                                out.copy({whole_message, {0}, {2}});
                                out.copy({whole_message, {0}, {1}});
                            }};
    const Call call{.collective = Collective::broadcast, .count = 10};
    const auto counted = count_levels(schedule, call, Placement::in_nodes_of(4, 2));
    ASSERT_TRUE(counted);
    EXPECT_EQ(counted->farthest, (std::vector<std::size_t>{1, 0}));
    EXPECT_EQ(counted->shares[0].messages, 2);
    EXPECT_EQ(counted->shares[1].bytes, 40);
}

TEST(LevelShares, LeaveOutLevelsThatDivideNoRanks) {
    const Call call{.collective = Collective::all_reduce, .count = 1000};
    const auto levels_of = [&](const Placement& placement, int ranks) {
        std::vector<std::optional<Level>> levels;
        const auto counted =
            count_levels(built("ring", call.collective, placement, ranks), call, placement);
        if (counted)
            for (const LevelShare& share : counted->shares) levels.push_back(share.within);
        return levels;
    };
    using Levels = std::vector<std::optional<Level>>;
    // One NUMA node in each host, and one host in each rack.
    EXPECT_EQ(levels_of(Placement::of_levels(4, {{Level::numa, {0, 0, 0, 0}},
                                                 {Level::host, {0, 0, 1, 1}},
                                                 {Level::rack, {0, 0, 1, 1}}}),
                        4),
              (Levels{Level::host, std::nullopt}));
    EXPECT_EQ(levels_of(Placement::one_node(4).with_islands_of(2), 4),
              (Levels{Level::numa, Level::host}));
    // Only one level is left.
    EXPECT_EQ(levels_of(Placement::one_node(4), 4), Levels{});
    EXPECT_EQ(levels_of(Placement::in_nodes_of(4, 1), 4), Levels{});
}

TEST(LevelShares, HaveTheTimeFromTheEndOfTheStepBefore) {
    CountedLevels levels{.shares = {{Level::host}, {}}, .farthest = {0, 1, 0}};
    add_times(levels, {100, 450, 500, 520});
    EXPECT_EQ(levels.shares[0].ns, 170);  // 100, 50, and what follows the last step
    EXPECT_EQ(levels.shares[1].ns, 350);
}

TEST(LevelShares, HaveNoTimesOfStepsThatAreNotVisible) {
    CountedLevels levels{.shares = {{Level::host}, {}}, .farthest = {0, 1, 0}};
    add_times(levels, {520});
    EXPECT_EQ(levels.shares[0].ns, std::nullopt);
}

TEST(LevelShares, OfAPlanAreOnRank0WithTimesOfAllItsSteps) {
    for (const char* transport : {"shm", "loopback"})
        run_as_threads(4, 20, [&](World& world) {
            Planner planner(world);
            const Algorithm& ring = find_algorithm(Collective::all_reduce, "ring");
            test::CheckedPlan plan(planner, transport, ring, 1000);
            const Call call{.collective = Collective::all_reduce, .count = 1000};
            const auto shares =
                level_shares(world, plan.plan(), call, Placement::in_nodes_of(4, 2), {}, 0);
            if (!world.is_first()) {
                EXPECT_TRUE(shares.empty());
                return;
            }
            ASSERT_EQ(shares.size(), 2U) << transport;
            EXPECT_EQ(shares[0].bytes, 12000) << transport;  // 6 steps of a quarter
            EXPECT_EQ(shares[1].bytes, 12000) << transport;
            EXPECT_EQ(shares[0].ns, 0) << transport;  // each step also crosses the border
            EXPECT_GT(shares[1].ns, 0) << transport;
        });
}

TEST(LevelShares, TakeFewCallsIfEachIsLong) {
    const auto calls_of = [](std::int64_t ns_of_call) {
        int calls = 0;
        run_as_threads(4, 20, [&](World& world) {
            Planner planner(world);
            const Algorithm& ring = find_algorithm(Collective::all_reduce, "ring");
            test::CheckedPlan plan(planner, "loopback", ring, 1000);
            const Call call{.collective = Collective::all_reduce, .count = 1000};
            const auto count = [&] { calls += world.is_first() ? 1 : 0; };
            level_shares(world, plan.plan(), call, Placement::in_nodes_of(4, 2), count,
                         world.is_first() ? ns_of_call : 0);
        });
        return calls;
    };
    EXPECT_EQ(calls_of(1000), 6);         // the first one is not timed
    EXPECT_EQ(calls_of(200'000'000), 2);  // whatever other ranks have measured
}

}  // namespace
}  // namespace tutti
