// SPDX-License-Identifier: Apache-2.0
// Collective operations of the ranks of a rendezvous, and their errors when one is lost.
#include <chrono>
#include <numeric>

#include "collectives/world/shared_memory.hpp"
#include "tests/collectives/rendezvous/ranks.hpp"

namespace tutti {
namespace {

using namespace std::chrono_literals;

TEST(ProcessWorld, GathersWhatEachRankHas) {
    expect_nothing_thrown(run_as_rendezvous(5, [](World& world) {
        for (int round = 0; round < 20; ++round) {
            const auto all = gather_all(world, world.rank().index * 10 + round);
            for (int rank = 0; rank < 5; ++rank) EXPECT_EQ(at(all, rank), rank * 10 + round);
        }
    }));
}

TEST(ProcessWorld, MovesMoreThanSocketsBuffer) {
    expect_nothing_thrown(run_as_rendezvous(3, [](World& world) {
        std::vector<int> mine(3'000'000), all(3 * mine.size());
        std::iota(mine.begin(), mine.end(), world.rank().index);
        world.all_gather(std::as_bytes(std::span(mine)), std::as_writable_bytes(std::span(all)));
        for (int rank = 0; rank < 3; ++rank)
            EXPECT_EQ(at(all, 3'000'000 * (rank + 1) - 1), rank + 2'999'999);
        world.broadcast(std::as_writable_bytes(std::span(mine)));
        EXPECT_EQ(mine[7], 7);
    }));
}

TEST(ProcessWorld, ExchangesNothingWithoutWaiting) {
    expect_nothing_thrown(run_as_rendezvous(2, [](World& world) {
        if (world.is_first()) std::this_thread::sleep_for(50ms);
        world.all_gather({}, {});
        world.broadcast({});
        EXPECT_EQ(from_rank0(world, world.rank().index + 5), 5);
        EXPECT_EQ(gather_all_texts(world, std::string(as_size(world.rank().index), 'x')),
                  (std::vector<std::string>{"", "x"}));
    }));
}

TEST(ProcessWorld, LeavesABarrierWhenTheLastHasCome) {
    expect_nothing_thrown(run_as_rendezvous(4, [](World& world) {
        static std::atomic<int> come = 0;
        if (world.is_first()) come = 0;
        world.barrier();
        std::this_thread::sleep_for(world.rank().index * 30ms);
        ++come;
        world.barrier();
        EXPECT_EQ(come, 4);
        world.sleeping_barrier(1);
    }));
}

TEST(ProcessWorld, SplitsIntoGroupsThatActByThemselves) {
    expect_nothing_thrown(run_as_rendezvous(5, [](World& world) {
        const int me = world.rank().index;
        const auto part = world.split(me == 4 ? std::nullopt : std::optional(me % 2));
        ASSERT_EQ(part == nullptr, me == 4);
        if (!part) return;
        EXPECT_EQ(part->size(), 2);
        EXPECT_EQ(part->rank().index, me / 2);
        // The odd ranks do more, and later.
        if (me % 2 == 1) std::this_thread::sleep_for(100ms);
        for (int round = 0; round <= me % 2; ++round)
            EXPECT_EQ(gather_all(*part, me), (std::vector<int>{me % 2, me % 2 + 2}));
        const auto alone = part->split(me);
        EXPECT_EQ(alone->size(), 1);
        alone->barrier();
    }));
}

TEST(ProcessWorld, SharesMemoryBetweenProcesses) {
    TestRendezvous two(2);
    ChildRank child(two.of(1), [](World& world) {
        SharedMemory memory(world, 8);
        memory.of({0})[3] = std::byte{42};
        world.barrier();
        world.barrier();
    });
    const auto world = rendezvous_world(two.of(0));
    SharedMemory memory(*world, 8);
    world->barrier();
    EXPECT_EQ(memory.of({0})[3], std::byte{42});
    world->barrier();
    EXPECT_EQ(child.end(), 0);
}

TEST(ProcessWorld, EveryRankNamesAnAbsentOne) {
    for (const int absent : {0, 1, 2}) {
        std::atomic<int> left = 2;
        const auto thrown = run_as_rendezvous(3, [&](World& world) {
            world.barrier();
            world.hang_timeout = 0.3;
            if (world.rank().index != absent) {
                const Thrown mine = thrown_by([&] { world.barrier(); });
                --left;
                EXPECT_TRUE(holds(mine.text, {"waited 0.6 s", "for a barrier"}));
                EXPECT_TRUE(holds(mine.text, "answer from rank " + std::to_string(absent)));
                EXPECT_EQ(mine.code, Exit::time_out);
            }
            while (left > 0) std::this_thread::sleep_for(10ms);
        });
        expect_nothing_thrown(thrown);
    }
}

// This must not depend on how late rank 0 itself is.
TEST(ProcessWorld, ARankThatGivesUpEarlyNamesTheRanksThatRank0Misses) {
    std::atomic<int> left = 2;
    expect_nothing_thrown(run_as_rendezvous(3, [&](World& world) {
        world.barrier();
        world.hang_timeout = 0.5;
        if (world.is_first()) std::this_thread::sleep_for(500ms);
        if (world.rank().index != 2) {
            const Thrown mine = thrown_by([&] { world.barrier(); });
            --left;
            EXPECT_TRUE(holds(mine.text, "answer from rank 2"));
        }
        while (left > 0) std::this_thread::sleep_for(10ms);
    }));
}

TEST(ProcessWorld, RanksThatDoDifferentThingsSaySo) {
    const auto thrown = run_as_rendezvous(2, [](World& world) {
        if (world.is_first())
            world.barrier();
        else
            gather_all(world, 1.5);
    });
    EXPECT_TRUE(holds(thrown[0].text, {"in a barrier", "in an all-gather", "8 bytes"}));
    EXPECT_NE(thrown[1].text, "");
}

// Same kind and length, so rank 1's call looks like rank 0's.
TEST(ProcessWorld, RanksThatHaveMadeMoreCallsThanOthersSaySo) {
    const auto thrown = run_as_rendezvous(2, [](World& world) {
        if (world.is_first()) from_rank0(world, 5);
        world.barrier();
    });
    EXPECT_TRUE(holds(thrown[0].text, {"rank 1 in a barrier", "call number"}));
    EXPECT_EQ(thrown[0].code, Exit::rank_lost);
}

// An object of the rank itself, e.g. a late plan, interrupts its part in a barrier: messages of
// other ranks must not count for the next call.
TEST(ProcessWorld, TakesNoPartInCallsAfterOneThatBrokeOff) {
    struct Late final : Progressable {
        void make_progress() override { throw Error("late", Exit::time_out); }
    };
    expect_nothing_thrown(run_as_rendezvous(2, [](World& world) {
        if (world.is_first()) {
            Late late;
            world.register_progress(late);
            EXPECT_EQ(thrown_by([&] { world.barrier(); }).text, "late");
            world.unregister_progress(late);
            const Thrown next = thrown_by([&] { world.barrier(); });
            EXPECT_TRUE(holds(next.text, "earlier call failed"));
            EXPECT_EQ(next.code, Exit::rank_lost);
        } else {
            std::this_thread::sleep_for(100ms);
            EXPECT_EQ(thrown_by([&] { world.barrier(); }).code, Exit::rank_lost);
        }
    }));
}

class OneOfThree : public testing::TestWithParam<int> {};

// The child is killed while the others wait for it; they notice in a fraction of the deadline.
TEST_P(OneOfThree, IsNamedByAllOthersWhenItIsLost) {
    const int lost = GetParam();
    TestRendezvous three(3);
    int ready[2];
    ASSERT_EQ(pipe(ready), 0);
    ChildRank child(three.of(lost), [&](World& world) {
        world.barrier();
        [[maybe_unused]] const auto written = write(ready[1], "!", 1);
        for (;;) pause();
    });
    std::vector<std::thread> others;
    for (int rank = 0; rank < 3; ++rank)
        if (rank != lost)
            others.emplace_back([&, rank, where = three.of(rank)] {
                const auto world = rendezvous_world(where);
                world->hang_timeout = 30;
                world->barrier();
                const Thrown thrown = thrown_by([&] { world->barrier(); });
                EXPECT_TRUE(holds(thrown.text, "rank " + std::to_string(rank) + " lost rank " +
                                                   std::to_string(lost) + ":"));
                EXPECT_EQ(thrown.code, Exit::rank_lost);
            });
    char byte = 0;
    ASSERT_EQ(read(ready[0], &byte, 1), 1);
    std::this_thread::sleep_for(100ms);
    const auto killed = std::chrono::steady_clock::now();
    child.kill(SIGKILL);
    for (auto& other : others) other.join();
    EXPECT_LT(std::chrono::steady_clock::now() - killed, 5s);
    close(ready[0]);
    close(ready[1]);
}
INSTANTIATE_TEST_SUITE_P(Ranks, OneOfThree, testing::Values(0, 1, 2));

// Rank 0 does not wait, so it does not notice.
TEST(LostRank, IsNoticedByAnotherWhileRank0IsBusy) {
    TestRendezvous three(3);
    ChildRank child(three.of(2), [](World& world) {
        world.barrier();
        for (;;) pause();
    });
    std::atomic<bool> is_over = false;
    std::thread rank0([&, where = three.of(0)] {
        const auto world = rendezvous_world(where);
        world->barrier();
        while (!is_over) std::this_thread::sleep_for(10ms);
    });
    const auto world = rendezvous_world(three.of(1));
    world->barrier();
    child.kill(SIGKILL);
    const Thrown thrown = thrown_by([&] { world->barrier(); });
    EXPECT_TRUE(holds(thrown.text, "rank 1 lost rank 2:"));
    is_over = true;
    rank0.join();
}

// Asks like a plan that waits in shared memory.
TEST(LostRank, IsSeenByWhoAsksOnly) {
    TestRendezvous two(2);
    ChildRank child(two.of(1), [](World& world) {
        world.barrier();
        for (;;) pause();
    });
    const auto world = rendezvous_world(two.of(0));
    world->barrier();
    world->throw_if_lost();
    child.kill(SIGKILL);
    child.end();
    EXPECT_TRUE(holds(thrown_by([&] { world->throw_if_lost(); }).text, "rank 0 lost rank 1:"));
}

TEST(LostRank, ThatIsUnwoundByAnErrorIsLost) {
    const auto thrown = run_as_rendezvous(2, [](World& world) {
        if (!world.is_first()) throw Error("no such algorithm");
        world.barrier();
    });
    EXPECT_TRUE(holds(thrown[0].text, "rank 0 lost rank 1:"));
    EXPECT_EQ(thrown[1].text, "no such algorithm");
}

// Threads of one process, so that no rank learns it by itself from a process that has ended.
TEST(LostRank, IsNamedToAllOthersByRank0) {
    for (const int lost : {1, 2, 3}) {
        const auto thrown = run_as_rendezvous(4, [&](World& world) {
            if (world.rank().index == lost) throw Error("no such algorithm");
            world.barrier();
        });
        for (int rank = 0; rank < 4; ++rank) {
            if (rank == lost) continue;
            EXPECT_TRUE(
                holds(at(thrown, rank).text,
                      "rank " + std::to_string(rank) + " lost rank " + std::to_string(lost) + ":"));
        }
    }
}

TEST(LostRank, ThatHasSaidGoodbyeIsToldApart) {
    const auto thrown = run_as_rendezvous(2, [](World& world) {
        if (world.is_first()) world.barrier();
    });
    EXPECT_TRUE(holds(thrown[0].text, "rank 1 has left"));
    EXPECT_EQ(thrown[0].code, Exit::rank_lost);
}

// Returns the error of a plan that waits in shared memory and asks repeatedly.
Thrown thrown_in_a_plan(World& world) {
    return thrown_by([&] {
        for (int look = 0; look < 500; ++look) {
            world.throw_if_lost();
            std::this_thread::sleep_for(10ms);
        }
    });
}

TEST(LostRank, IsRank0ThatLeavesWhileAnotherWaitsInAPlan) {
    const auto thrown = run_as_rendezvous(2, [](World& world) {
        if (world.is_first()) return;
        const Thrown mine = thrown_in_a_plan(world);
        EXPECT_TRUE(holds(mine.text, "rank 0 has left"));
        EXPECT_EQ(mine.code, Exit::rank_lost);
    });
    expect_nothing_thrown(thrown);
}

TEST(LostRank, IsRank0ThatGivesUpWhileAnotherWaitsInAPlan) {
    std::atomic<bool> is_over = false;
    expect_nothing_thrown(run_as_rendezvous(2, [&](World& world) {
        world.barrier();
        if (world.is_first()) {
            world.hang_timeout = 0.1;
            EXPECT_EQ(thrown_by([&] { world.barrier(); }).code, Exit::time_out);
            while (!is_over) std::this_thread::sleep_for(10ms);
        } else {
            const Thrown mine = thrown_in_a_plan(world);
            is_over = true;
            EXPECT_TRUE(holds(mine.text, "has given up"));
            EXPECT_EQ(mine.code, Exit::rank_lost);
        }
    }));
}

}  // namespace
}  // namespace tutti
