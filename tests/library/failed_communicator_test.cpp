// SPDX-License-Identifier: Apache-2.0
// Tests communicators after a failed call.
#include <chrono>

#include "tests/collectives/rendezvous/ranks.hpp"
#include "tutti/communicator.hpp"

namespace tutti {
namespace {

using namespace std::chrono_literals;

// Rank 0 times out and destroys its communicator. Rank 1 is late, and runs an existing plan, so it
// waits in shared memory.
TEST(FailedCommunicator, IsDetectedByARankThatWaitsInAPlan) {
    TestRendezvous two(2);
    std::vector<std::thread> ranks;
    for (const int rank : {0, 1})
        ranks.emplace_back([rank, where = two.of(rank)] {
            auto communicator =
                Communicator::over_rendezvous(where, {.deadline = rank == 0 ? 1.0 : 20.0});
            std::vector<float> data(4);
            communicator.all_reduce(data);
            if (rank == 0) {
                EXPECT_EQ(thrown_by([&] { communicator.all_reduce(data); }).code, Exit::time_out);
                return;
            }
            std::this_thread::sleep_for(2s);
            const auto began = std::chrono::steady_clock::now();
            const Thrown thrown = thrown_by([&] {
                for (int call = 0; call < 3; ++call) communicator.all_reduce(data);
            });
            EXPECT_LT(std::chrono::steady_clock::now() - began, 5s);
            EXPECT_TRUE(holds(thrown.text, "rank 1 lost rank 0"));
            EXPECT_EQ(thrown.code, Exit::rank_lost);
        });
    for (auto& rank : ranks) rank.join();
}

TEST(FailedCommunicator, RefusesAllCallsExceptRelease) {
    TestRendezvous two(2);
    std::vector<std::thread> ranks;
    for (const int rank : {0, 1})
        ranks.emplace_back([rank, where = two.of(rank)] {
            auto communicator = Communicator::over_rendezvous(where, {.deadline = 20});
            const auto memory = communicator.allocate<float>(10);
            std::vector<float> data(10 + as_size(rank));
            const Thrown different = thrown_by([&] { communicator.all_reduce(data); });
            EXPECT_EQ(different.code, Exit::usage);
            EXPECT_TRUE(holds(different.text, {"10 float, sum", "11 float, sum"}));
            const std::vector<std::function<void()>> calls{
                [&] { communicator.barrier(); },
                [&] { communicator.all_reduce(memory); },
                [&] { communicator.allocate<float>(10); },
                [&] { communicator.send(data, Rank{1 - rank}); },
                [&] { communicator.receive(data, Rank{1 - rank}); },
            };
            for (const auto& call : calls)
                EXPECT_TRUE(holds(thrown_by(call).text, "earlier call failed"));
            communicator.release(memory);
        });
    for (auto& rank : ranks) rank.join();
}

// A broadcast has a root and no operation, an all-gather neither.
TEST(FailedCommunicator, NamesWhatTheDifferentCallsHave) {
    run_as_threads(2, 20, [](World& world) {
        Communicator communicator(world);
        std::vector<float> data(4);
        const Thrown thrown = thrown_by([&] {
            if (world.is_first())
                communicator.broadcast(data, Rank{1});
            else
                communicator.all_gather(data);
        });
        EXPECT_EQ(thrown.code, Exit::usage);
        EXPECT_TRUE(holds(thrown.text, {"root 1, in place", "2 float, in place"}));
    });
}

// Ranks meet in calls of their world that do not fit.
TEST(FailedCommunicator, IsWrongUseIfOneRankIsInABarrier) {
    TestRendezvous two(2);
    std::vector<std::thread> ranks;
    for (const int rank : {0, 1})
        ranks.emplace_back([rank, where = two.of(rank)] {
            auto communicator = Communicator::over_rendezvous(where, {.deadline = 20});
            std::vector<float> data(4);
            const Thrown thrown = thrown_by([&] {
                if (rank == 0)
                    communicator.barrier();
                else
                    communicator.all_reduce(data);
            });
            EXPECT_NE(thrown.text, "");
            if (rank == 0) {
                EXPECT_EQ(thrown.code, Exit::usage);
            }
        });
    for (auto& rank : ranks) rank.join();
}

TEST(FailedCommunicator, IsNotTheResultOfAFailedAllocation) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    GTEST_SKIP() << "with a sanitizer, a failed allocation ends the process";
#endif
    run_as_threads(2, 20, [](World& world) {
        Communicator communicator(world);
        const Thrown thrown = thrown_by([&] { communicator.allocate_bytes(std::size_t{1} << 60); });
        EXPECT_EQ(thrown.text, "memory of a communicator: std::bad_alloc");
        EXPECT_EQ(thrown.code, Exit::usage);
        EXPECT_EQ(communicator.allocate_bytes(10).size(), 10U);
    });
}

}  // namespace
}  // namespace tutti
