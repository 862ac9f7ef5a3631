// SPDX-License-Identifier: Apache-2.0
#include "workloads/bench/sweep.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <mutex>
#include <set>
#include <tuple>

#include "base/index.hpp"
#include "workloads/bench/sweep_points.hpp"
#include "workloads/timing/done_by_all.hpp"

namespace tutti {
namespace {

Sweep sweep_of(Collective collective, const SearchSpace& search_space) {
    Sweep sweep;
    sweep.collective = collective;
    sweep.candidates = candidates(collective, search_space);
    sweep.counts = {10};
    sweep.protocol.fixed_samples = 2;
    sweep.protocol.warm_up_calls = 0;
    return sweep;
}

// What rank 0 reports, size by size.
std::vector<std::vector<Point>> points_of_run(const Sweep& sweep, int ranks,
                                              std::optional<Fault> fault = {}) {
    std::vector<std::vector<Point>> all;
    run_as_threads(ranks, 60, [&](World& world) {
        Planner planner(world, fault);
        SweepEvents events;
        if (world.is_first())
            events.after_point = [&](const std::vector<Point>& points) { all.push_back(points); };
        run_sweep(planner, sweep, events);
    });
    return all;
}

TEST(CountFor, RoundsUpSoThatSmallSizesAreNotNothing) {
    const auto count = [](DataType type, std::int64_t bytes) {
        return count_for(Collective::all_reduce, type, 3, Bytes{bytes});
    };
    EXPECT_EQ(count(DataType::float64, 0), 0);
    EXPECT_EQ(count(DataType::float64, 1), 1);
    EXPECT_EQ(count(DataType::float64, 8), 1);
    EXPECT_EQ(count(DataType::float64, 9), 2);
    EXPECT_EQ(count(DataType::int8, 9), 9);
}

// nccl-tests counts all ranks' blocks as the size of a collective that has blocks.
TEST(CountFor, IsTheLeastThatReachesTheSize) {
    for (const Collective collective : all_collectives())
        for (const int ranks : {1, 2, 3, 7})
            for (const std::int64_t bytes : {0, 1, 4, 8, 100, 4096, 1 << 20}) {
                const auto bytes_of = [&](std::int64_t count) {
                    return total_bytes(
                        {.collective = collective, .type = DataType::float32, .count = count},
                        ranks);
                };
                const auto count = count_for(collective, DataType::float32, ranks, Bytes{bytes});
                EXPECT_GE(bytes_of(count), bytes)
                    << name_of(collective) << " " << ranks << " " << bytes;
                if (count > 0) {
                    EXPECT_LT(bytes_of(count - 1), bytes);
                }
            }
}

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

TEST(Sweep, LeavesAPointWithTheReasonForWhoeverCannotTakePart) {
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
    EXPECT_NE(points[0][0].skipped->find("power of two, not 3"), std::string::npos)
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
    EXPECT_EQ(placement_of(4, 0), "nodes of 4");  // as records have called it so far
    EXPECT_EQ(placement_of(0, 2), "islands of 2");
    EXPECT_EQ(placement_of(4, 2), "nodes of 4, islands of 2");
}

std::vector<std::string> names_of(const std::vector<Candidate>& candidates) {
    std::vector<std::string> names;
    for (const Candidate& candidate : candidates) names.push_back(candidate.name());
    return names;
}

// Chain is cut, a tree has a radix, two-level-butterfly both, a ring neither.
TEST(Candidates, AreEveryCombinationOfParametersThatAnAlgorithmMakesUseOf) {
    const SearchSpace search_space{
        .algorithms = {"ring", "tree", "chain", "two-level-butterfly"},
        .transports = {"shm"},
        .baselines = {"mpi"},
        .knobs = {{"segment", {0, 16384}}, {"radix", {0, 4}}, {"channels", {1, 2}}}};
    EXPECT_EQ(names_of(candidates(Collective::all_reduce, search_space)),
              (std::vector<std::string>{
                  "ring/shm", "ring[x2]/shm",                                               //
                  "tree/shm", "tree[x2]/shm", "tree[k4]/shm", "tree[k4,x2]/shm",            //
                  "chain/shm", "chain[x2]/shm", "chain[16K]/shm", "chain[16K,x2]/shm",      //
                  "two-level-butterfly/shm", "two-level-butterfly[x2]/shm",                 //
                  "two-level-butterfly[k4]/shm", "two-level-butterfly[k4,x2]/shm",          //
                  "two-level-butterfly[16K]/shm", "two-level-butterfly[16K,x2]/shm",        //
                  "two-level-butterfly[16K,k4]/shm", "two-level-butterfly[16K,k4,x2]/shm",  //
                  "mpi"}));
}

TEST(Candidates, AreNamedOnceHoweverTheDefaultRadixIsGiven) {
    const SearchSpace search_space{.algorithms = {"tree"},
                                   .transports = {"shm"},
                                   .baselines = {},
                                   .orders = {"naive", "topology"},
                                   .knobs = {{"radix", {0, 2, 3, 3}}}};
    EXPECT_EQ(names_of(candidates(Collective::broadcast, search_space)),
              (std::vector<std::string>{"tree/shm", "tree[k3]/shm", "tree@topology/shm",
                                        "tree[k3]@topology/shm"}));
}

TEST(Candidates, OfWhichSeveralWouldDoTheSameAreDistinctOnce) {
    const SearchSpace search_space{.algorithms = {"tree", "linear", "chain", "two-level"},
                                   .transports = {"loopback", "shm"},
                                   .baselines = {"mpi"},
                                   .knobs = {{"segment", {0, 16384}}, {"radix", {0, 3, 4, 8}}}};
    const auto all = candidates(Collective::broadcast, search_space);
    const auto left = [&](int ranks, std::int64_t count, int per_node) {
        auto names =
            names_of(distinct(all, {.collective = Collective::broadcast, .count = count},
                              {.ranks = ranks, .hosts = Placement::in_nodes_of(ranks, per_node)}));
        std::erase_if(names, [](const auto& name) { return name.ends_with("loopback"); });
        return names;
    };
    using Names = std::vector<std::string>;
    // Two ranks: one message, whoever sends it. The catalog has the tree first.
    EXPECT_EQ(left(2, 100, 2), (Names{"tree/shm", "mpi"}));
    // 64 KiB are one default segment, or four of 16 KiB.
    EXPECT_EQ(left(2, 16384, 2), (Names{"tree/shm", "chain[16K]/shm", "mpi"}));
    // Radix 4 and 8 serve all four at once, as linear does; on one node there is one level.
    EXPECT_EQ(left(4, 100, 4),
              (Names{"tree/shm", "tree[k3]/shm", "tree[k4]/shm", "chain/shm", "mpi"}));
    // Two nodes of two: across, then inside, is what a binomial tree does in another order.
    EXPECT_EQ(left(4, 100, 2), (Names{"tree/shm", "tree[k3]/shm", "tree[k4]/shm", "chain/shm",
                                      "two-level/shm", "mpi"}));
}

TEST(Candidates, AreDistinctByTransportAndLeftInWhereNothingIsKnown) {
    const auto all = candidates(Collective::all_to_all, {.algorithms = {"butterfly", "bruck"},
                                                         .transports = {"loopback", "shm"},
                                                         .baselines = {"mpi"},
                                                         .orders = {"naive", "mine"}});
    const Order as_launched{{{{0}, {1}, {2}}}};
    const auto left = distinct(all, {.collective = Collective::all_to_all, .count = 9},
                               {.ranks = 3, .orders = {{"mine", as_launched}}});
    // The butterfly refuses three ranks, and should say so.
    EXPECT_EQ(names_of(left), (std::vector<std::string>{
                                  "butterfly/loopback", "butterfly@mine/loopback", "butterfly/shm",
                                  "butterfly@mine/shm", "bruck/loopback", "bruck/shm", "mpi"}));
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

TEST(Candidates, AreAlgorithmsOfALibraryToo) {
    const auto names = [](std::vector<std::string> baselines) {
        std::vector<std::string> all;
        for (const Candidate& candidate :
             candidates(Collective::all_reduce,
                        {.algorithms = {"none"}, .transports = {}, .baselines = baselines}))
            all.push_back(candidate.name());
        return all;
    };
    EXPECT_EQ(names({"mpi"}), std::vector<std::string>{"mpi"});
    EXPECT_EQ(names({"all"}), (std::vector<std::string>{"mpi", "nccl"}));
    EXPECT_EQ(names({"mpi/ring"}), std::vector<std::string>{"mpi/ring"});
    EXPECT_EQ(names({"mpi/ring", "mpi"}), (std::vector<std::string>{"mpi", "mpi/ring"}));
    // Which there are, the library only says while it runs.
    EXPECT_EQ(names({"mpi/all"}), std::vector<std::string>{"mpi"});
    EXPECT_THROW(names({"mpx/ring"}), Error);
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

TEST(Sweep, MeasuresInEachKindOfBuffers) {
    Sweep sweep =
        sweep_of(Collective::all_reduce,
                 {.algorithms = {"ring"}, .transports = {"loopback", "shm"}, .baselines = {}});
    sweep.in_place = {false, true};
    const auto kinds_of = [&](std::vector<BufferKind> buffers) {
        sweep.buffers = std::move(buffers);
        std::vector<std::string> kinds;
        const auto points = points_of_run(sweep, 2);
        for (const Point& point : points.at(0)) {
            EXPECT_EQ(point.measured.check.state, CheckState::ok) << point.key.buf;
            kinds.push_back(point.key.buf);
        }
        return kinds;
    };
    const std::vector<std::string> registered(4, "registered"), unregistered(4, "host");
    std::vector<std::string> both = unregistered;
    both.insert(both.end(), registered.begin(), registered.end());
    EXPECT_EQ(kinds_of({}), registered);  // threads can share memory
    EXPECT_EQ(kinds_of({BufferKind::registered}), registered);
    EXPECT_EQ(kinds_of({BufferKind::unregistered}), unregistered);
    EXPECT_EQ(kinds_of({BufferKind::unregistered, BufferKind::registered}), both);
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

// What each of three ranks ended with.
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
        const std::string said = failing == 0
                                     ? "no space left"
                                     : "no space left (on rank " + std::to_string(failing) + ")";
        const auto fail = [failing](World& world) {
            if (world.rank().index == failing) throw Error("no space left");
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

// What chooses on rank 2 lacks something that the others have.
TEST(Sweep, EndsOnAllRanksWithTheErrorThatMakingAnOperationThrowsOnOne) {
    Sweep sweep = sweep_of(Collective::all_reduce,
                           {.algorithms = {"none"}, .transports = {"all"}, .baselines = {}});
    EXPECT_EQ(errors_of([&](World& world) {
                  Planner planner(world);
                  Sweep mine = sweep;
                  Candidate candidate{.configuration = {.impl = "auto", .algorithm = "auto"}};
                  candidate.chooser = [&](const Call&, const PooledBuffers&) -> ChosenOperation {
                      if (world.rank().index == 2) throw Error("no table");
                      return {};
                  };
                  mine.candidates = {candidate};
                  run_sweep(planner, mine, {});
              }),
              std::vector<std::string>(3, "no table (on rank 2)"));
}

TEST(Sweep, EndsOnAllRanksWhereOneHasNoMemoryLeft) {
    const auto errors = errors_of([](World& world) {
        done_by_all(world, [&] {
            if (world.rank().index == 1) throw std::bad_alloc();
        });
    });
    EXPECT_NE(errors[0].find("no memory left"), std::string::npos) << errors[0];
    EXPECT_EQ(errors, std::vector<std::string>(3, errors[0]));
}

TEST(BuffersOnDevices, AreTakenWhereOnlyDevicesTakePart) {
    const SearchSpace search_space{
        .algorithms = {"ring", "one-shot"}, .transports = {"cuda-emulated"}, .baselines = {"none"}};
    Sweep sweep = sweep_of(Collective::all_reduce, search_space);
    sweep.counts = {10, 3000};
    sweep.in_place = {false, true};
    const auto all = points_of_run(sweep, 3);
    ASSERT_EQ(all.size(), 2u);
    for (const auto& points : all) {
        ASSERT_EQ(points.size(), 4u);
        for (const Point& point : points) {
            ASSERT_FALSE(point.skipped) << *point.skipped;
            EXPECT_EQ(point.measured.check.state, CheckState::ok);
            EXPECT_EQ(point.key.buf, "cuda");
            EXPECT_TRUE(is_virtual(point.key));
        }
    }
}

// shm stages them; shm-direct would have the host read them.
TEST(BuffersOnDevices, AreRefusedByThoseWhoCannotReachThem) {
    const SearchSpace search_space{.algorithms = {"ring"},
                                   .transports = {"shm", "shm-direct", "loopback", "cuda-emulated"},
                                   .baselines = {"none"}};
    Sweep sweep = sweep_of(Collective::all_reduce, search_space);
    sweep.buffers = {BufferKind::device};
    const auto all = points_of_run(sweep, 2);
    ASSERT_EQ(all.size(), 1u);
    ASSERT_EQ(all[0].size(), 4u);
    for (const Point& point : all[0]) {
        EXPECT_EQ(point.skipped.has_value(), point.key.configuration.transport == "shm-direct");
        if (point.skipped) continue;
        EXPECT_EQ(point.measured.check.state, CheckState::ok);
        EXPECT_EQ(point.key.buf, "cuda");
    }
}

TEST(PinnedBuffers, AreOrdinaryForTheHostAndCopiedToTheDeviceAndBack) {
    const SearchSpace search_space{.algorithms = {"ring"},
                                   .transports = {"shm", "loopback", "cuda-emulated"},
                                   .baselines = {"none"}};
    Sweep sweep = sweep_of(Collective::all_reduce, search_space);
    sweep.buffers = {BufferKind::pinned, BufferKind::device};
    sweep.in_place = {false, true};
    const auto all = points_of_run(sweep, 2);
    ASSERT_EQ(all.size(), 1u);
    ASSERT_EQ(all[0].size(), 12u);
    for (std::size_t i = 0; i < 12; ++i) {
        const Point& point = all[0][i];
        ASSERT_FALSE(point.skipped) << *point.skipped;
        EXPECT_EQ(point.measured.check.state, CheckState::ok);
        EXPECT_EQ(point.key.buf, i < 6 ? "pinned" : "cuda");
    }
}

TEST(Buffers, ThatNeedADeviceAreRefusedWhereNothingMakesThem) {
    const auto world = world_of_one();
    for (const BufferKind kind : {BufferKind::device, BufferKind::pinned}) try {
            const BufferPool pool(*world, 100, std::span(&kind, 1));
            ADD_FAILURE() << name_of(kind);
        } catch (const Error& error) {
            EXPECT_EQ(error.what(), "no " + std::string(name_of(kind)) +
                                        " buffers here, as the host computes what is in them; type "
                                        "--buffers registered or unregistered");
        }
}

TEST(BuffersOnTheHost, AreCopiedToTheDeviceAndBack) {
    const SearchSpace search_space{
        .algorithms = {"ring"}, .transports = {"shm", "cuda-emulated"}, .baselines = {"none"}};
    Sweep sweep = sweep_of(Collective::all_reduce, search_space);
    sweep.buffers = {BufferKind::registered, BufferKind::unregistered};
    const auto all = points_of_run(sweep, 2);
    ASSERT_EQ(all.size(), 1u);
    ASSERT_EQ(all[0].size(), 4u);
    for (const Point& point : all[0]) {
        ASSERT_FALSE(point.skipped) << *point.skipped;
        EXPECT_EQ(point.measured.check.state, CheckState::ok);
        EXPECT_NE(point.key.buf, "cuda");
    }
}

}  // namespace
}  // namespace tutti
