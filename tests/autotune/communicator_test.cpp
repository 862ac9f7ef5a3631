// SPDX-License-Identifier: Apache-2.0
#include "autotune/communicator.hpp"

#include <gtest/gtest.h>

#include <array>
#include <random>

#include "caller.hpp"
#include "collectives/transport/world.hpp"

namespace tutti {
namespace {

using test::Caller;

TEST(Communicator, DoesEveryCollectiveForEveryTypeAndRootInWhateverBuffersARankTakes) {
    for (const int ranks : {1, 2, 3, 4})
        run_as_threads(ranks, 20, [&](World& world) {
            Communicator communicator(world);
            Caller caller(communicator, /*seed=*/world.rank().index);
            for (int repetition = 0; repetition < 3; ++repetition)
                for (const Collective collective : all_collectives())
                    for (const DataType type : all_data_types())
                        for (const std::int64_t count : {0, 1, 300}) {
                            const Rank root{has_root(collective) ? (repetition * 7) % ranks : 0};
                            caller.call({collective, type, Op::sum, root, count});
                        }
            EXPECT_EQ(caller.wrong(), 0);
        });
}

TEST(Communicator, DoesEveryOperation) {
    run_as_threads(3, 20, [&](World& world) {
        Communicator communicator(world);
        Caller caller(communicator, 1);
        for (const Collective collective :
             {Collective::all_reduce, Collective::reduce_scatter, Collective::reduce})
            for (const Op op : all_ops())
                caller.call({collective, DataType::int32, op, Rank{0}, 5000});
        EXPECT_EQ(caller.wrong(), 0);
    });
}

// Values by hand: what a user writes.
TEST(Communicator, TakesVectorsArraysAndSpans) {
    run_as_threads(2, 20, [&](World& world) {
        Communicator all(world);
        const int me = all.rank().index;
        std::vector<float> mine{1.0f + static_cast<float>(me), 10}, sum(2);
        all.all_reduce(mine, sum);
        EXPECT_EQ(sum, (std::vector<float>{3, 20}));
        all.all_reduce(std::span(mine), Op::max);
        EXPECT_EQ(mine, (std::vector<float>{2, 10}));

        std::array<std::int64_t, 1> one{me + 5};
        std::array<std::int64_t, 2> both{};
        all.all_gather(one, both);
        EXPECT_EQ(both, (std::array<std::int64_t, 2>{5, 6}));
        all.reduce_scatter(both, one);
        EXPECT_EQ(one[0], me == 0 ? 10 : 12);
        const std::vector<std::int32_t> letters{10 * me, 10 * me + 1};
        std::vector<std::int32_t> post(2);
        all.all_to_all(letters, post);
        EXPECT_EQ(post, (std::vector<std::int32_t>{me, 10 + me}));
        all.all_to_all(post);
        EXPECT_EQ(post, letters);

        std::vector<Half> word{Half(static_cast<float>(me))};
        all.broadcast(word, Rank{1});
        EXPECT_EQ(static_cast<float>(word[0]), 1);
        std::vector<std::uint8_t> deal, mine_of_it(1);
        if (me == 1) deal = {7, 8};
        all.scatter(deal, mine_of_it, Rank{1});
        EXPECT_EQ(mine_of_it[0], 7 + me);
        std::vector<std::uint8_t> back(me == 0 ? 2 : 0);
        all.gather(mine_of_it, back, Rank{0});
        EXPECT_EQ(back, me == 0 ? (std::vector<std::uint8_t>{7, 8}) : back);
        std::vector<double> total{static_cast<double>(me) + 1};
        all.reduce(total, Op::sum, Rank{1});
        EXPECT_EQ(total[0], me == 1 ? 3 : total[0]);
        Pending pending = all.start_all_reduce(total, Op::min);
        pending.wait();
        EXPECT_TRUE(pending.test());
    });
}

TEST(Communicator, IsOneRankByItself) {
    Communicator alone = Communicator::alone();
    std::vector<int> data{1, 2, 3}, copy(3);
    alone.all_reduce(data, copy, Op::prod);
    EXPECT_EQ(copy, data);
    alone.broadcast(data);
    EXPECT_EQ(copy, data);
    EXPECT_EQ(alone.size(), 1);
}

// Each rank ends what it has started when it likes, by waiting or by asking.
TEST(Communicator, HasManyCallsUnderWayAtOnce) {
    for (const int ranks : {1, 2, 3})
        run_as_threads(ranks, 20, [&](World& world) {
            Communicator communicator(world);
            const int me = world.rank().index;
            Caller caller(communicator, me);
            std::mt19937 same(7), own(static_cast<unsigned>(me) + 1);
            for (int i = 0; i < 400; ++i) {
                const auto collective = all_collectives()[same() % 8];
                const std::int64_t count = std::array{1, 40, 20'000}[same() % 3];
                const Call call{collective, DataType::float32, Op::sum, Rank{0}, count};
                if (same() % 5 == 0)
                    caller.call(call);
                else
                    caller.start(call);
                if (own() % 3 == 0) caller.test_all();
                while (caller.under_way() > 20 || (caller.under_way() > 0 && own() % 2 == 0))
                    caller.wait_for(own() % caller.under_way());
            }
            while (caller.under_way() > 0) caller.wait_for(0);
            EXPECT_EQ(caller.wrong(), 0);
        });
}

TEST(Communicator, HasTheSameCallUnderWayManyTimes) {
    run_as_threads(2, 20, [&](World& world) {
        Communicator communicator(world);
        Caller caller(communicator, world.rank().index);
        for (int round = 0; round < 10; ++round) {
            for (int i = 0; i < 12; ++i)
                caller.start({.collective = Collective::all_reduce, .count = 3000});
            while (caller.under_way() > 0)  // one rank from the begin, the other from the end
                caller.wait_for(world.is_first() ? 0 : caller.under_way() - 1);
        }
        EXPECT_EQ(caller.wrong(), 0);
    });
}

TEST(Communicator, ForgetsTheOldestPlansAndMakesThemAgain) {
    run_as_threads(3, 20, [&](World& world) {
        Communicator communicator(world, {.most_plans = 3});
        const int me = world.rank().index;
        Caller caller(communicator, me);
        std::mt19937 same(3), own(static_cast<unsigned>(me));
        for (int i = 0; i < 200; ++i) {
            const Call call{.collective = all_collectives()[same() % 8],
                            .count = 100 * static_cast<std::int64_t>(same() % 4)};
            if (same() % 2 == 0)
                caller.call(call);
            else
                caller.start(call);
            if (own() % 4 == 0) caller.test_all();
            while (caller.under_way() > 9) caller.wait_for(own() % caller.under_way());
        }
        while (caller.under_way() > 0) caller.wait_for(0);
        EXPECT_EQ(caller.wrong(), 0);
    });
}

TEST(Communicator, WaitsForWhatIsLetGoOf) {
    run_as_threads(2, 20, [&](World& world) {
        Communicator communicator(world);
        std::vector<int> data(1000, 1);
        { const Pending forgotten = communicator.start_all_reduce(data); }
        EXPECT_EQ(data, std::vector<int>(1000, 2));
        Pending first = communicator.start_all_reduce(data);
        std::vector<int> others(1000, 5);
        first = communicator.start_all_reduce(others);
        EXPECT_EQ(data, std::vector<int>(1000, 4));
        first.wait();
        EXPECT_EQ(others, std::vector<int>(1000, 10));
    });
}

}  // namespace
}  // namespace tutti
