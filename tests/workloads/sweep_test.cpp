// SPDX-License-Identifier: Apache-2.0
#include "workloads/bench/sweep.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <mutex>
#include <set>
#include <tuple>

#include "base/index.hpp"
#include "tests/base/messages.hpp"
#include "tests/results/samples.hpp"
#include "tests/workloads/sweeps.hpp"
#include "workloads/bench/sweep_points.hpp"
#include "workloads/timing/done_by_all.hpp"

namespace tutti {
namespace {

TEST(Sweep, MeasuresSizesOnceThatAreRoundedToTheSame) {
    Sweep sweep = sweep_of(Collective::all_gather,
                           {.algorithms = {"ring"}, .transports = {"shm"}, .baselines = {}});
    sweep.counts.clear();
    sweep.sizes = {Bytes{1}, Bytes{8}, Bytes{12}, Bytes{13},
                   Bytes{24}};  // one element is 3 * 4 bytes
    EXPECT_EQ(calls_of(sweep, 3).size(), 2U);
    const auto points = points_of_run(sweep, 3);
    ASSERT_EQ(points.size(), 2U);
    EXPECT_EQ(points[0][0].key.bytes, Bytes{12});
    EXPECT_EQ(points[1][0].key.bytes, Bytes{24});
}

TEST(Sweep, GoesThroughEverythingThatMattersToTheCollective) {
    const SearchSpace search_space{
        .algorithms = {"ring"}, .transports = {"loopback"}, .baselines = {}};
    const auto points_seen = [&](Collective collective) {
        Sweep sweep = sweep_of(collective, search_space);
        sweep.types = {DataType::int8, DataType::float32};
        sweep.ops = {Op::sum, Op::min, Op::max};
        sweep.roots = {Rank{0}, Rank{1}};
        sweep.in_place = {false, true};
        const auto points = points_of_run(sweep, 2);
        EXPECT_EQ(points.size(), calls_of(sweep, 2).size());
        for (const auto& together : points)
            EXPECT_EQ(together.size(), 2U);  // out of place, in place
        return points.size();
    };
    EXPECT_EQ(points_seen(Collective::all_reduce), 2U * 3);
    EXPECT_EQ(points_seen(Collective::reduce), 2U * 3 * 2);
    EXPECT_EQ(points_seen(Collective::broadcast), 2U * 2);
    EXPECT_EQ(points_seen(Collective::all_gather), 2U);
}

TEST(Sweep, LeavesAPointWithTheReasonForEachCandidateThatCannotRun) {
    const Sweep sweep = sweep_of(Collective::all_to_all, {.algorithms = {"butterfly", "bruck"},
                                                          .transports = {"loopback", "mpi"},
                                                          .baselines = {"mpi"}});
    const auto points = points_of_run(sweep, 3);
    ASSERT_EQ(points.size(), 1U);
    std::vector<std::string> who, took_part;
    for (const Point& point : points[0]) {
        who.push_back(point.key.configuration.impl + " " + point.key.configuration.algorithm + " " +
                      point.key.configuration.transport);
        if (!point.skipped)
            took_part.push_back(who.back());
        else
            EXPECT_FALSE(point.skipped->empty());
    }
    EXPECT_EQ(who, (std::vector<std::string>{"tutti butterfly loopback", "tutti butterfly mpi",
                                             "tutti bruck loopback", "tutti bruck mpi", "mpi  "}));
    EXPECT_EQ(took_part, std::vector<std::string>{"tutti bruck loopback"});
    EXPECT_NE(points[0][0].skipped->find("power of two"), std::string::npos)
        << *points[0][0].skipped;
}

TEST(Sweep, DistinguishesTheOrdersOfRanksAndLeavesTheLaunchersOutOfTheKey) {
    Sweep sweep = sweep_of(Collective::all_gather, {.algorithms = {"ring"},
                                                    .transports = {"loopback"},
                                                    .baselines = {},
                                                    .orders = {"naive", "topology", "mine"}});
    sweep.environment.orders = {{"topology", {{{{2}, {0}, {1}}}}},
                                {"mine", {{{{0}, {1}, {2}}, {{2}, {1}, {0}}}}}};
    const auto points = points_of_run(sweep, 3);
    ASSERT_EQ(points.size(), 1U);
    ASSERT_EQ(points[0].size(), 3U);
    std::vector<std::string> orders;
    for (const Point& point : points[0]) {
        orders.push_back(point.key.configuration.order);
        EXPECT_EQ(point.measured.check.state, CheckState::ok) << point.key.configuration.order;
    }
    EXPECT_EQ(orders, (std::vector<std::string>{"", "topology", "mine"}));
}

TEST(Sweep, NamesThePlacementThatWasAskedFor) {
    Sweep sweep =
        sweep_of(Collective::all_reduce,
                 {.algorithms = {"three-level"}, .transports = {"loopback"}, .baselines = {}});
    const auto placement_of = [&](int per_node, int per_island) {
        sweep.ranks_per_node = per_node;
        sweep.ranks_per_island = per_island;
        return points_of_run(sweep, 2).at(0).at(0).key.placement;
    };
    EXPECT_EQ(placement_of(0, 0), "");
    EXPECT_EQ(placement_of(4, 0), "nodes of 4");  // the name that records have used so far
    EXPECT_EQ(placement_of(0, 2), "islands of 2");
    EXPECT_EQ(placement_of(4, 2), "nodes of 4, islands of 2");
}

TEST(Sweep, MeasuresSchedulesByLevelWhereRanksHaveSeveral) {
    Sweep sweep =
        sweep_of(Collective::all_reduce,
                 {.algorithms = {"two-level"}, .transports = {"loopback"}, .baselines = {"mpi"}});
    EXPECT_TRUE(points_of_run(sweep, 4).at(0).at(0).levels.empty());
    sweep.environment.hosts = Placement::in_nodes_of(4, 2);
    const auto points = points_of_run(sweep, 4).at(0);
    ASSERT_EQ(points[0].levels.size(), 2U);
    EXPECT_EQ(points[0].levels[0].within, Level::host);
    for (const LevelShare& share : points[0].levels) EXPECT_GT(share.ns, 0);
    EXPECT_TRUE(points[1].levels.empty());  // a library's steps are unknown
}

TEST(Sweep, KeepsParametersApartAndLeavesDefaultOnesOutOfTheKey) {
    const SearchSpace search_space{
        .algorithms = {"tree", "chain"},
        .transports = {"loopback"},
        .baselines = {},
        .knobs = {{"segment", {0, 1024}}, {"radix", {0, 3}}, {"channels", {1, 2}}}};
    Sweep sweep = sweep_of(Collective::all_reduce, search_space);
    sweep.counts = {3000};
    sweep.environment.default_segment = Bytes{4096};
    const auto points = points_of_run(sweep, 4);
    std::set<std::string> ids;
    std::vector<std::tuple<std::string, std::int64_t, int, int>> keys;
    for (const Point& point : points.at(0)) {
        EXPECT_EQ(point.measured.check.state, CheckState::ok);
        ids.insert(point_id(point.key));
        keys.emplace_back(point.key.configuration.algorithm, point.key.configuration.segment.count,
                          point.key.configuration.radix, point.key.configuration.channels);
    }
    EXPECT_EQ(ids.size(), 8U);
    using Keys = decltype(keys);
    EXPECT_EQ(keys, (Keys{{"tree", 0, 0, 1},
                          {"tree", 0, 0, 2},
                          {"tree", 0, 3, 1},
                          {"tree", 0, 3, 2},
                          {"chain", 4096, 0, 1},
                          {"chain", 4096, 0, 2},
                          {"chain", 1024, 0, 1},
                          {"chain", 1024, 0, 2}}));
}

TEST(Sweep, LeavesAPointWithTheReasonForAnAlgorithmThatCannotBeForced) {
    const auto points = points_of_run(
        sweep_of(Collective::all_reduce,
                 {.algorithms = {"none"}, .transports = {}, .baselines = {"mpi/ring"}}),
        2);
    ASSERT_EQ(points.size(), 1U);
    EXPECT_EQ(points[0][0].key.configuration.impl, "mpi");
    EXPECT_EQ(points[0][0].key.configuration.algorithm, "ring");
    EXPECT_TRUE(points[0][0].skipped);
}

TEST(Sweep, DistinguishesRewrittenInputFromUntouched) {
    Sweep sweep = sweep_of(Collective::all_reduce,
                           {.algorithms = {"ring"}, .transports = {"shm"}, .baselines = {}});
    sweep.counts = {0, 1, 1000};
    sweep.in_place = {false, true};
    const auto untouched = points_of_run(sweep, 3);
    sweep.input = InputState::rewritten;
    const auto rewritten = points_of_run(sweep, 3);
    ASSERT_EQ(rewritten.size(), untouched.size());
    for (std::size_t i = 0; i < rewritten.size(); ++i)
        for (std::size_t j = 0; j < rewritten[i].size(); ++j) {
            const Point &one = untouched[i][j], &other = rewritten[i][j];
            EXPECT_EQ(other.measured.check.state, CheckState::ok);
            EXPECT_EQ(one.key.input, "");
            EXPECT_EQ(other.key.input, "rewritten");
            EXPECT_NE(point_id(one.key), point_id(other.key));
        }
}

TEST(Sweep, ReportsWrongResultsOfAnyRank) {
    const Sweep sweep =
        sweep_of(Collective::broadcast,
                 {.algorithms = {"linear"}, .transports = {"loopback"}, .baselines = {}});
    const auto points = points_of_run(sweep, 3, parse_fault("corrupt:to=2"));  // reported by rank 0
    ASSERT_EQ(points.size(), 1U);
    EXPECT_EQ(points[0][0].measured.check.state, CheckState::fail);
    EXPECT_GE(points[0][0].measured.check.n_wrong, 1);
}

TEST(Sweep, MeasuresNoLevelsOfWrongCalls) {
    Sweep sweep =
        sweep_of(Collective::all_reduce, {.algorithms = {"two-level"}, .transports = {"loopback"}});
    sweep.environment.hosts = Placement::in_nodes_of(4, 2);
    const Point point = points_of_run(sweep, 4, parse_fault("corrupt:to=2")).at(0).at(0);
    EXPECT_EQ(point.measured.check.state, CheckState::fail);
    EXPECT_TRUE(point.levels.empty());
}

TEST(Sweep, ReportsTheSameOnAllRanks) {
    Sweep sweep = sweep_of(
        Collective::all_reduce,
        {.algorithms = {"ring", "tree"}, .transports = {"loopback", "shm"}, .baselines = {}});
    sweep.counts = {0, 1, 1000};
    std::mutex mutex;
    std::vector<std::vector<Point>> of_ranks(3);
    run_as_threads(3, 60, [&](World& world) {
        Planner planner(world);
        std::vector<Point>& mine = at(of_ranks, world.rank().index);
        SweepEvents events;
        events.after_point = [&](const std::vector<Point>& points) {
            mine.insert(mine.end(), points.begin(), points.end());
        };
        run_sweep(planner, sweep, events);
    });
    EXPECT_EQ(of_ranks[0].size(), 3U * 4);
    EXPECT_EQ(of_ranks[1], of_ranks[0]);
    EXPECT_EQ(of_ranks[2], of_ranks[0]);
}

// Returns the error of each of three ranks.
std::vector<std::string> errors_of(const std::function<void(World&)>& body) {
    std::vector<std::string> errors(3, "none");
    run_as_threads(3, 5, [&](World& world) {
        try {
            body(world);
        } catch (const std::exception& error) {
            at(errors, world.rank()) = error.what();
        }
    });
    return errors;
}

TEST(Sweep, EndsOnAllRanksWithTheErrorThatACallbackOfOneThrows) {
    const Sweep sweep =
        sweep_of(Collective::all_reduce,
                 {.algorithms = {"ring", "tree"}, .transports = {"loopback"}, .baselines = {}});
    for (const int failing : {0, 1, 2}) {
        const std::string said =
            failing == 0 ? "no space" : "no space (on rank " + std::to_string(failing) + ")";
        const auto fail = [failing](World& world) {
            if (world.rank().index == failing) throw Error("no space");
        };
        EXPECT_EQ(errors_of([&](World& world) {
                      Planner planner(world);
                      SweepEvents events;
                      events.after_point = [&](const auto&) { fail(world); };
                      run_sweep(planner, sweep, events);
                  }),
                  std::vector<std::string>(3, said));
        EXPECT_EQ(errors_of([&](World& world) {
                      Planner planner(world);
                      SweepEvents events;
                      events.before_point = [&](const auto&) { fail(world); };
                      run_sweep(planner, sweep, events);
                  }),
                  std::vector<std::string>(3, said));
    }
}

// The chooser on rank 2 lacks something that other ranks have.
TEST(Sweep, EndsOnAllRanksWithTheErrorThatMakingAnOperationThrowsOnOne) {
    Sweep sweep = sweep_of(Collective::all_reduce,
                           {.algorithms = {"none"}, .transports = {"all"}, .baselines = {}});
    EXPECT_EQ(errors_of([&](World& world) {
                  Planner planner(world);
                  Sweep mine = sweep;
                  Candidate candidate{.configuration = {.impl = "auto", .algorithm = "auto"}};
                  candidate.chooser = [&](const Call&, const PooledBuffers&) -> ChosenOperation {
                      if (world.rank().index == 2) throw Error("missing");
                      return {};
                  };
                  mine.candidates = {candidate};
                  run_sweep(planner, mine, {});
              }),
              std::vector<std::string>(3, "missing (on rank 2)"));
}

TEST(Sweep, EndsOnAllRanksWhereOneHasNoMemoryLeft) {
    const auto errors = errors_of([](World& world) {
        done_by_all(world, [&] {
            if (world.rank().index == 1) throw std::bad_alloc();
        });
    });
    EXPECT_TRUE(holds(errors[0], "no memory left"));
    EXPECT_EQ(errors, std::vector<std::string>(3, errors[0]));
}

// Calls to a root that follow each other overlap, so the least time of one is no bound.
TEST(Sweep, ComparesWithLimitsUnlessCallsOfARowOverlap) {
    for (const Collective collective : {Collective::all_reduce, Collective::reduce})
        for (const auto sync : {Protocol::Sync::barrier, Protocol::Sync::back_to_back}) {
            Sweep sweep = sweep_of(
                collective, {.algorithms = {"linear"}, .transports = {"shm"}, .baselines = {}});
            sweep.protocol.sync = sync;
            sweep.limits = sample_limits();
            const Point point = points_of_run(sweep, 2).at(0).at(0);
            const bool overlaps =
                collective == Collective::reduce && point.measured.calls_of_sample > 1;
            EXPECT_EQ(point.limit_ns.has_value(), !overlaps) << name_of(collective);
            EXPECT_EQ(point.pct_of_limit.has_value(), !overlaps);
        }
}

}  // namespace
}  // namespace tutti
