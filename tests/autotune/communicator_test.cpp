// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <random>

#include "caller.hpp"
#include "collectives/world/world.hpp"
#include "library/communicator_state.hpp"
#include "tests/base/messages.hpp"
#include "tests/collectives/allocations.hpp"

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
             {Collective::all_reduce, Collective::reduce_scatter, Collective::reduce,
              Collective::scan, Collective::exscan})
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
        Request pending = all.start_all_reduce(total, Op::min);
        pending.wait();
        EXPECT_TRUE(pending.test());
    });
}

TEST(Communicator, ReducesTheRanksBeforeEach) {
    run_as_threads(3, 20, [&](World& world) {
        Communicator all(world);
        const int me = all.rank().index;
        std::vector<int> mine{me + 1, 10}, before(me == 0 ? 0 : 2), upto(2);
        all.scan(mine, upto);
        EXPECT_EQ(upto, (std::vector<int>{(me + 1) * (me + 2) / 2, 10 * (me + 1)}));
        all.exscan(mine, before);
        EXPECT_EQ(before,
                  me == 0 ? std::vector<int>{} : (std::vector<int>{me * (me + 1) / 2, 10 * me}));
        all.start_exscan(mine, Op::max).wait();
        EXPECT_EQ(mine, (std::vector<int>{std::max(me, 1), 10}));  // rank 0's stays
        all.start_scan(mine, Op::min).wait();
        EXPECT_EQ(mine, (std::vector<int>{1, 10}));
    });
}

TEST(Communicator, LetsNoRankLeaveABarrierBeforeAllHaveEntered) {
    for (const int ranks : {1, 2, 3, 4}) {
        std::atomic<int> entered = 0;
        run_as_threads(ranks, 20, [&](World& world) {
            Communicator all(world);
            for (int round = 1; round <= 100; ++round) {
                ++entered;
                if (round % 2 == 0)
                    all.barrier();
                else
                    all.start_barrier().wait();
                EXPECT_GE(entered, round * ranks);
            }
        });
    }
}

template <class Data>
concept CanStartInPlace = requires(Communicator& all, Data&& data) {
    all.start_all_reduce(static_cast<Data&&>(data));
    all.start_broadcast(static_cast<Data&&>(data));
};
template <class In, class Out>
concept CanStart = requires(Communicator& all, In&& input, Out&& output) {
    all.start_all_reduce(static_cast<In&&>(input), static_cast<Out&&>(output));
    all.start_gather(static_cast<In&&>(input), static_cast<Out&&>(output));
};
using Ints = std::vector<int>;
static_assert(CanStartInPlace<Ints&> && CanStartInPlace<std::span<int>>);
static_assert(!CanStartInPlace<Ints>);
static_assert(!CanStartInPlace<std::array<int, 2>> && CanStartInPlace<std::array<int, 2>&>);
static_assert(CanStart<const Ints&, Ints&> && CanStart<std::span<const int>, std::span<int>>);
static_assert(!CanStart<Ints, Ints&> && !CanStart<const Ints, Ints&> && !CanStart<Ints&, Ints>);

TEST(Communicator, IsOneRankByItself) {
    Communicator self = Communicator::self();
    std::vector<int> data{1, 2, 3}, copy(3);
    self.all_reduce(data, copy, Op::prod);
    EXPECT_EQ(copy, data);
    self.broadcast(data);
    EXPECT_EQ(copy, data);
    EXPECT_EQ(self.size(), 1);
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
            while (caller.under_way() > 0)  // one rank from the start, the other from the end
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

// A call that is known again is none whose plan was forgotten meanwhile.
TEST(Communicator, DoesNotTakeForgottenPlansForTheSameCall) {
    run_as_threads(2, 20, [&](World& world) {
        Communicator communicator(world, {.most_plans = 1});
        std::vector<float> one(300, 1), other(400, 1);
        for (int i = 0; i < 5; ++i) {
            communicator.all_reduce(one);
            communicator.all_reduce(one);
            communicator.all_reduce(other);
        }
        EXPECT_EQ(std::ranges::count(one, 1024.0f), 300);
        EXPECT_EQ(std::ranges::count(other, 32.0f), 400);
    });
}

TEST(Communicator, WaitsForWhatIsLetGoOf) {
    run_as_threads(2, 20, [&](World& world) {
        Communicator communicator(world);
        std::vector<int> data(1000, 1);
        { const Request forgotten = communicator.start_all_reduce(data); }
        EXPECT_EQ(data, std::vector<int>(1000, 2));
        Request first = communicator.start_all_reduce(data);
        std::vector<int> others(1000, 5);
        first = communicator.start_all_reduce(others);
        EXPECT_EQ(data, std::vector<int>(1000, 4));
        first.wait();
        EXPECT_EQ(others, std::vector<int>(1000, 10));
    });
}

// Symmetric buffers: input and output from one call to the next at other places.
TEST(Communicator, TakesRegisteredMemoryAtManyPlaces) {
    run_as_threads(3, 20, [&](World& world) {
        Communicator communicator(world);
        const int me = world.rank().index;
        const std::span<int> memory = communicator.allocate<int>(64 * 100);
        EXPECT_EQ(std::ranges::count(memory, 0), 6400);
        std::mt19937 same(5);
        for (int i = 0; i < 100; ++i) {
            const std::size_t from = same() % 4, to = 4 + same() % 4;
            const auto input = memory.subspan(100 * from, 100),
                       output = memory.subspan(100 * to, 100);
            std::ranges::fill(input, me + i);
            communicator.all_reduce(input, output);
            ASSERT_EQ(output.front(), 3 + 3 * i);
            ASSERT_EQ(output.back(), 3 + 3 * i);
            communicator.reduce(input, output, Op::max, Rank{i % 3});
            ASSERT_EQ(output.front(), me == i % 3 ? 2 + i : 3 + 3 * i);
        }
    });
}

TEST(Communicator, RefusesMoreMemoryThanThereCanBe) {
    auto communicator = Communicator::self();
    for (const std::size_t count : {std::size_t{1} << 61, SIZE_MAX, SIZE_MAX / sizeof(double)})
        EXPECT_THROW((void)communicator.allocate<double>(count), Error) << count;
    EXPECT_EQ(communicator.allocate<double>(3).size(), 3u);
}

TEST(Communicator, DealsReleasedMemoryOutAgain) {
    run_as_threads(2, 20, [&](World& world) {
        Communicator communicator(world);
        const auto first = communicator.allocate<double>(1000);
        const auto second = communicator.allocate<double>(1000);
        std::ranges::fill(first, 3);
        communicator.all_reduce(first, second);
        communicator.release(first);
        const auto third = communicator.allocate<double>(500);
        EXPECT_EQ(third.data(), first.data());
        EXPECT_EQ(std::ranges::count(third, 0), 500) << "not zeroed";
        EXPECT_THROW(communicator.release(third.subspan(8)), Error);
        std::vector<double> unregistered(5);
        EXPECT_THROW(communicator.release(std::span(unregistered)), Error);
        communicator.release(third);
        communicator.release(second);
        EXPECT_EQ(communicator.allocate<double>(2000).data(), first.data()) << "not joined";
    });
}

// A large piece gets its own arena; calls across two arenas count as unregistered.
TEST(Communicator, TakesInputAndOutputFromDifferentArenas) {
    run_as_threads(2, 20, [&](World& world) {
        Communicator communicator(world);
        const auto small = communicator.allocate<int>(100);
        const auto large = communicator.allocate<int>(std::size_t{20} << 20);
        std::ranges::fill(small, 4);
        communicator.all_reduce(small, large.first(100));
        EXPECT_EQ(std::ranges::count(large.first(100), 8), 100);
    });
}

// Memory that ends before the communicator, and another one in its place.
TEST(Communicator, LetsGoOfAdoptedMemory) {
    run_as_threads(2, 20, [&](World& world) {
        Communicator::State state(nullptr, world, {});
        std::optional<SharedMemory> memory;
        for (const std::size_t bytes : {std::size_t{4096}, std::size_t{1} << 20}) {
            const std::size_t unregistered = state.plans.size();
            memory.emplace(world, bytes);
            state.adopt(*memory);
            const auto mine = memory->mine();
            auto* const data = reinterpret_cast<float*>(mine.data());
            const std::span all(data, mine.size() / sizeof(float));
            std::ranges::fill(all, 1.0f);
            const CallArguments call = arguments::all_reduce(all, Op::sum);
            EXPECT_TRUE(state.key_of(call, CallMode::blocking).is_registered());
            for (int i = 0; i < 3; ++i) state.run(call);
            EXPECT_EQ(std::ranges::count(all, 8.0f), std::ssize(all));
            const Request under_way = state.start(call);
            EXPECT_EQ(state.plans.size(), unregistered + 2);
            state.disown(*memory);
            EXPECT_EQ(state.plans.size(), unregistered) << "plans in memory that ends";
            EXPECT_EQ(std::ranges::count(all, 16.0f), std::ssize(all));
            EXPECT_FALSE(state.key_of(call, CallMode::blocking).is_registered());
            state.run(call);  // the same as in unregistered memory
            EXPECT_EQ(std::ranges::count(all, 32.0f), std::ssize(all));
        }
    });
}

TEST(Communicator, SaysWhatIsWrongWithACall) {
    run_as_threads(2, 20, [&](World& world) {
        Communicator communicator(world);
        std::vector<int> three(3), four(4);
        EXPECT_THROW(communicator.all_reduce(three, four), Error);
        EXPECT_THROW(communicator.all_gather(three, four), Error);
        EXPECT_THROW(communicator.reduce_scatter(three), Error);
        EXPECT_THROW(communicator.broadcast(three, Rank{2}), Error);
        EXPECT_THROW(communicator.all_reduce(std::span(four).first(3), std::span(four).last(3)),
                     Error);
        communicator.all_reduce(three);  // nothing of this has broken it
    });
}

// A known plan for an octave does not spare a call the check of its lengths.
TEST(Communicator, SaysWhatIsWrongWithACallOfAKnownOctave) {
    run_as_threads(2, 20, [&](World& world) {
        Communicator communicator(world);
        std::vector<int> data(40, 1), results(80);
        const auto first = [&](std::size_t count) { return std::span(data).first(count); };
        const auto result = [&](std::size_t count) { return std::span(results).first(count); };
        for (const std::size_t count : {17, 18}) {
            communicator.all_gather(first(count), result(2 * count));
            communicator.all_reduce(first(count));
        }
        EXPECT_THROW(communicator.all_gather(first(19), result(39)), Error);
        EXPECT_THROW(communicator.all_gather(first(20), result(20)), Error);
        EXPECT_THROW(communicator.all_reduce(first(19), result(20)), Error);
        EXPECT_THROW(communicator.all_gather(first(19), std::span(data).first(38)), Error);
        std::ranges::fill(data, 7);
        communicator.all_gather(first(21), result(42));
        EXPECT_EQ(std::ranges::count(result(42), 7), 42);
    });
}

TEST(Communicator, SaysWhenRanksMakeDifferentCalls) {
    run_as_threads(2, 20, [&](World& world) {
        Communicator communicator(world);
        std::vector<int> data(10 + static_cast<std::size_t>(world.rank().index));
        const Thrown thrown = thrown_by([&] { communicator.all_reduce(data); });
        EXPECT_TRUE(holds(thrown.text, "rank 1 calls all_reduce of 11 int32"));
        EXPECT_THROW(communicator.all_reduce(data), Error);
    });
}

TEST(Communicator, TakesDifferentPlacesOfRegisteredMemoryOnEachRank) {
    run_as_threads(3, 20, [&](World& world) {
        Communicator communicator(world);
        const std::span<float> memory = communicator.allocate<float>(6000);
        const auto me = as_size(world.rank());
        for (const std::size_t count : {1, 500, 1500}) {
            const auto input = memory.subspan(10 * me, count),
                       output = memory.subspan(2000 + 1000 * me, count);
            std::ranges::fill(input, static_cast<float>(me + 1));
            communicator.all_reduce(input, output);
            EXPECT_EQ(std::ranges::count(output, 6), std::ssize(output));
            // Ranks other than the root may omit the output.
            communicator.reduce(input, world.is_first() ? output : memory.first(0));
        }
    });
}

// Once plans are there, calls allocate nothing.
TEST(Communicator, AllocatesNothingInTheSteadyState) {
    run_as_threads(2, 20, [&](World& world) {
        Communicator communicator(world);
        std::vector<float> a(2000), b(2000), c(60'000), d(60'000);
        const auto some_calls = [&] {
            communicator.all_reduce(a, b);
            communicator.all_reduce(b, a);
            communicator.broadcast(c);
            communicator.all_gather(std::span(c).first(30'000), d);
            Request first = communicator.start_all_reduce(c, d);
            Request second = communicator.start_all_reduce(a, Op::max);
            second.wait();
            first.wait();
        };
        const auto calls_of_other_lengths = [&](std::size_t longest) {
            for (std::size_t count = 1; count <= longest; ++count)
                communicator.all_reduce(std::span(a).first(count), std::span(b).first(count));
        };
        calls_of_other_lengths(64);
        for (int i = 0; i < 40; ++i) some_calls();
        const test::AllocationCount allocations;
        some_calls();
        calls_of_other_lengths(60);
        EXPECT_EQ(allocations.so_far(), 0);
    });
}

}  // namespace
}  // namespace tutti
