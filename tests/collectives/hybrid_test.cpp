// SPDX-License-Identifier: Apache-2.0
// Messages between ranks of one host in shared memory, and to other hosts by another way. That all
// plans are right over them is checked in execute_test.cpp.
#include "collectives/transport/messages/hybrid.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <thread>

#include "checked_plan.hpp"
#include "collectives/transport/shm/host_transport.hpp"
#include "collectives/world/backoff.hpp"
#include "collectives/world/host_memory.hpp"
#include "tests/collectives/hosts_of_threads.hpp"

namespace tutti {
namespace {

std::vector<std::byte> message(std::size_t bytes, int first) {
    std::vector<std::byte> data(bytes);
    for (std::size_t i = 0; i < bytes; ++i)
        data[i] = static_cast<std::byte>(as_size(first) + i / 3);
    return data;
}

bool end_in_time(World& world, Endpoint& endpoint) {
    Backoff backoff(world);
    while (!endpoint.all_done())
        if (!backoff.pause()) return false;
    return true;
}

std::unique_ptr<Endpoint> connect(World& world, MessageTransport& messages, EndpointNeeds needs) {
    SharedPlanMemory memory(world);
    needs.memory = &memory;
    auto endpoint = messages.connect(needs);
    memory.provide("messages");
    return endpoint;
}

// More bytes in lines than the ring holds, between messages that the receiver reads itself. The
// receiver is late, and the sender may change its messages as soon as they are done.
TEST(HostMessages, ArriveInTheOrderSent) {
    std::vector<std::size_t> sizes{8, 4096, 4097, 0, 70'000, 1};
    sizes.insert(sizes.end(), 1000, 4096);
    sizes.insert(sizes.end(), {100'000, 5});
    run_as_threads(2, 20, [&](World& world) {
        const auto messages = host_messages(world);
        const auto endpoint = connect(
            world, *messages,
            {.most_posts = sizes.size(), .most_to_one = sizes.size(), .most_bytes = 100'000});
        for (int run = 0; run < 3; ++run) {
            std::vector<std::vector<std::byte>> sent, received;
            for (const std::size_t bytes : sizes) {
                sent.push_back(message(bytes, run + static_cast<int>(sent.size())));
                received.emplace_back(bytes);
            }
            const auto expected = sent;
            if (!world.is_first()) std::this_thread::sleep_for(std::chrono::milliseconds(2));
            for (std::size_t i = 0; i < sizes.size(); ++i)
                if (world.is_first())
                    endpoint->post_send(0, Rank{1}, sent[i]);
                else
                    endpoint->post_receive(0, Rank{0}, received[i]);
            ASSERT_TRUE(end_in_time(world, *endpoint));
            for (auto& data : sent) std::ranges::fill(data, std::byte{0xff});
            if (!world.is_first()) {
                EXPECT_EQ(received, expected);
            }
        }
        world.barrier();
    });
}

TEST(HostMessages, ThatWereNeverReceivedAreNamed) {
    run_as_threads(2, 20, [](World& world) {
        const auto endpoint =
            connect(world, *host_messages(world), {.most_posts = 1, .most_bytes = 8});
        EXPECT_FALSE(endpoint->left_over());
        world.barrier();
        const auto data = message(8, 1);
        if (world.is_first()) endpoint->post_send(0, Rank{1}, data);
        world.barrier();
        EXPECT_EQ(endpoint->left_over().has_value(), !world.is_first());
        world.barrier();
    });
}

// Plans use the memory of earlier ones, in which a message may have been left.
TEST(HostMessages, OfALaterPlanAreNotThoseOfAnEarlierOne) {
    run_as_threads(2, 20, [](World& world) {
        const auto messages = host_messages(world);
        for (const std::size_t bytes : {8, 4000, 100, 5000, 8, 70}) {
            const auto endpoint = connect(world, *messages, {.most_posts = 2, .most_bytes = bytes});
            const auto sent = message(bytes, static_cast<int>(bytes)), left = message(8, 99);
            std::vector<std::byte> received(bytes);
            if (world.is_first())
                endpoint->post_send(0, Rank{1}, sent);
            else
                endpoint->post_receive(0, Rank{0}, received);
            ASSERT_TRUE(end_in_time(world, *endpoint));
            if (world.is_first()) endpoint->post_send(1, Rank{1}, left);
            if (!world.is_first()) {
                EXPECT_EQ(received, sent);
            }
        }
        world.barrier();
    });
}

TEST(Hybrid, NeedsSeveralHostsAndTwoRanksOnOneOfThem) {
    run_as_threads(3, 20, [](World& threads) {
        EXPECT_TRUE(hybrid_refuses(threads));
        WorldOfHosts apart(threads, Placement::in_nodes_of(3, 1));
        EXPECT_TRUE(hybrid_refuses(apart));
        WorldOfHosts mixed(threads, Placement::in_nodes_of(3, 2));
        EXPECT_FALSE(hybrid_refuses(mixed));
        EXPECT_TRUE(hybrid_over_mpi_refuses(mixed));  // threads have no MPI
    });
}

// Rank 0 sends to all ranks in one step, but one of them never receives.
void expect_report(Rank absent, const std::string& way) {
    run_as_threads(4, 20, [&](World& threads) {
        WorldOfHosts world(threads, Placement::in_nodes_of(4, 2));
        Planner planner(world);
        test::CheckedPlan checked(planner, "hybrid",
                                  find_algorithm(Collective::broadcast, "linear"), 10'000);
        world.barrier();
        if (world.rank() != absent) checked.start();
        if (world.is_first()) {
            world.hang_timeout = 0.05;
            try {
                checked.wait();
                ADD_FAILURE() << "no time-out";
            } catch (const Error& error) {
                EXPECT_EQ(error.code(), Exit::time_out);
                EXPECT_NE(std::string(error.what()).find(way), std::string::npos) << error.what();
            }
            world.hang_timeout = 20;
        } else if (world.rank() != absent) {
            checked.wait();
        }
        world.barrier();
    });
}

TEST(Hybrid, MemoryIsThatOfTheRanksOfAHost) {
    run_as_threads(5, 20, [](World& threads) {
        WorldOfHosts world(threads, Placement::in_nodes_of(5, 2));
        const auto memory = host_memory(world, 64);
        memory->mine().front() = static_cast<std::byte>(world.rank().index);
        world.barrier();
        for (const Rank rank : all_ranks(world.size())) {
            const std::span<std::byte> of_rank = memory->of(rank);
            EXPECT_EQ(!of_rank.empty(), rank.index / 2 == world.rank().index / 2);
            if (!of_rank.empty()) {
                EXPECT_EQ(of_rank.front(), static_cast<std::byte>(rank.index));
            }
        }
        world.barrier();
    });
}

TEST(Hybrid, NamesTheWayToAMissingPeer) {
    expect_report(Rank{1}, "by shared memory");
    expect_report(Rank{3}, "by loopback");
}

}  // namespace
}  // namespace tutti
