// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <span>
#include <thread>

#include "collectives/world/backoff.hpp"
#include "collectives/world/host_processes.hpp"
#include "collectives/world/signal.hpp"
#include "collectives/world/world.hpp"
#include "tests/base/messages.hpp"

namespace tutti {

// A rank that waits between calls reports the missing ranks and the current activity.
TEST(Waiting, AtABarrierNamesTheRanksThatDidNotCome) {
    set_activity("all_reduce ring 4096 float");
    const Thrown thrown = thrown_by([] {
        run_as_threads(4, 0.5, [](World& world) {
            world.barrier();
            if (world.rank().index % 2 == 0) world.barrier();
        });
    });
    set_activity("");
    EXPECT_EQ(thrown.code, Exit::time_out);
    EXPECT_TRUE(holds(thrown.text, {"waited 1 s", "in all_reduce ring", "ranks 1, 3"}));
}

// The data that a rank exposes lies on its stack, which is gone after it has given up.
TEST(Waiting, ALateRankReadsNothingOfAnExchangeThatOthersHaveGivenUp) {
    std::atomic<bool> has_given_up = false;
    int read_late = -1;
    EXPECT_THROW(run_as_threads(2, 0.05,
                                [&](World& world) {
                                    const int mine = 7;
                                    std::array<int, 2> all{-1, -1};
                                    const auto exchange = [&] {
                                        world.all_gather(std::as_bytes(std::span(&mine, 1)),
                                                         std::as_writable_bytes(std::span(all)));
                                    };
                                    if (world.is_first()) {
                                        EXPECT_THROW(exchange(), Error);
                                        has_given_up = true;
                                        return;
                                    }
                                    while (!has_given_up) std::this_thread::yield();
                                    EXPECT_THROW(exchange(), Error);
                                    read_late = all[0];
                                    throw OthersFailed();
                                }),
                 Error);
    EXPECT_EQ(read_late, -1);
}

// In a container with the time of two CPUs, three ranks on eight cores take turns.
TEST(Waiting, RanksTakeTurnsBeyondTheCoresAndBeyondTheQuota) {
    EXPECT_FALSE(take_turns(8, 8, {}));
    EXPECT_TRUE(take_turns(9, 8, {}));
    EXPECT_FALSE(take_turns(2, 8, 2.0));
    EXPECT_TRUE(take_turns(3, 8, 2.0));
    EXPECT_TRUE(take_turns(2, 8, 1.5));
    EXPECT_FALSE(take_turns(8, 8, 100.0));
}

// A time slice of a computing thread is longer than most collectives.
TEST(Waiting, DuringAComputationSleepsWhereOthersBeginToYield) {
    for (const bool background : {false, true}) {
        run_as_threads(1, 10, [&](World& world) {
            world.background = background;
            auto backoff = Backoff::of_sleeper(world);
            while (!backoff.yields()) {
                EXPECT_FALSE(backoff.wants_sleep());
                EXPECT_TRUE(backoff.pause());
            }
            EXPECT_EQ(backoff.wants_sleep(), background);
            Backoff of_caller_that_polls(world);
            while (!of_caller_that_polls.yields()) of_caller_that_polls.pause();
            EXPECT_FALSE(of_caller_that_polls.wants_sleep());
        });
    }
}

// Progress for others can cost as much as many looks, but before each sleep it must be made.
TEST(Waiting, HelpsOthersSeldomWhileItPollsAndBeforeEachSleep) {
    for (const bool background : {false, true}) {
        run_as_threads(1, 10, [&](World& world) {
            world.background = background;
            auto backoff = Backoff::of_sleeper(world);
            while (!backoff.yields()) {
                EXPECT_FALSE(backoff.helps());
                backoff.pause();
            }
            int helped = 0;
            for (int look = 0; look < 64; ++look, backoff.pause())
                helped += backoff.helps() ? 1 : 0;
            if (background) {
                EXPECT_EQ(helped, 64);
            } else if (!backoff.wants_sleep()) {  // this rank kept its core
                EXPECT_EQ(helped, 2);
            }
        });
    }
}

// A count that stays above 0 would cost the counter's owner a system call in each step, for ever.
TEST(Waiting, ASleeperIsCountedOnlyWhileItSleeps) {
    std::uint64_t counter = 0, sleepers = 0;
    const std::atomic_ref counted(sleepers);
    std::thread sleeper([&] { sleep_below(counter, 1, sleepers, 1'000'000'000); });
    while (counted.load() == 0) std::this_thread::yield();
    publish(counter, std::uint64_t{1});
    wake_sleepers(counter);
    sleeper.join();
    EXPECT_EQ(counted.load(), 0u);
}

}  // namespace tutti
