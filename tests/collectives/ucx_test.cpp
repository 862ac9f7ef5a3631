// SPDX-License-Identifier: Apache-2.0
// Endpoints of the transport ucx alone, ranks as threads. Plans over them: execute_test.cpp.
#include "collectives/transport/ucx/ucx.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <fstream>
#include <numeric>
#include <thread>

#include "collectives/world/backoff.hpp"
#include "tests/base/messages.hpp"
#include "tests/base/small_limit.hpp"

namespace tutti {
namespace {

class UcxEndpoints : public testing::Test {
protected:
    void SetUp() override {
        if (const auto missing = ucx_missing()) GTEST_SKIP() << *missing;
    }

    static EndpointNeeds needs(int plan, std::vector<Rank> peers) {
        return {.plan = plan,
                .most_posts = 4,
                .most_to_one = 4,
                .most_bytes = 1 << 20,
                .peers = std::move(peers)};
    }

    static void wait(World& world, Endpoint& endpoint) {
        Backoff backoff(world);
        while (!endpoint.all_done()) ASSERT_TRUE(backoff.pause()) << "no message came";
    }
};

std::span<const std::byte> bytes(const std::vector<int>& numbers) {
    return std::as_bytes(std::span(numbers));
}

std::vector<int> numbered(int first, std::size_t count) {
    std::vector<int> numbers(count);
    std::iota(numbers.begin(), numbers.end(), first);
    return numbers;
}

// From a message that fits a line to one that uses a rendezvous: 4 bytes to 1 MiB.
TEST_F(UcxEndpoints, KeepMessagesBetweenTwoRanksInOrderWhateverTheirLength) {
    run_as_threads(2, 20, [](World& world) {
        const auto transport = ucx_transport(world);
        const Rank other{1 - world.rank().index};
        const auto endpoint = transport->connect(needs(3, {other}));
        for (const std::size_t longest : {1UL, 100UL, 5000UL, 262'144UL})
            for (int round = 0; round < 10; ++round) {
                const auto first = numbered(round, longest), second = numbered(-round, 1);
                std::vector<int> first_in(longest), second_in(1);
                if (world.is_first()) {
                    endpoint->post_send(0, other, bytes(first));
                    endpoint->post_send(0, other, bytes(second));
                } else {
                    endpoint->post_receive(0, other, std::as_writable_bytes(std::span(first_in)));
                    endpoint->post_receive(0, other, std::as_writable_bytes(std::span(second_in)));
                }
                wait(world, *endpoint);
                if (world.is_first()) continue;
                EXPECT_EQ(first_in, first);
                EXPECT_EQ(second_in, second);
            }
        world.barrier();
    });
}

TEST_F(UcxEndpoints, KeepPlansAndStepsApart) {
    run_as_threads(2, 20, [](World& world) {
        const auto transport = ucx_transport(world);
        const Rank other{1 - world.rank().index};
        const auto one = transport->connect(needs(1, {other}));
        const auto two = transport->connect(needs(2, {other}));
        const std::vector<int> out{10, 11, 20};
        std::vector<int> in(3);
        const auto part = [](auto& numbers, std::size_t i) {
            return std::span(numbers).subspan(i, 1);
        };
        if (world.is_first()) {
            two->post_send(0, other, std::as_bytes(part(out, 2)));
            one->post_send(1, other, std::as_bytes(part(out, 1)));
            one->post_send(0, other, std::as_bytes(part(out, 0)));
        } else {
            one->post_receive(0, other, std::as_writable_bytes(part(in, 0)));
            one->post_receive(1, other, std::as_writable_bytes(part(in, 1)));
            two->post_receive(0, other, std::as_writable_bytes(part(in, 2)));
        }
        wait(world, *one);
        wait(world, *two);
        EXPECT_EQ(in, world.is_first() ? std::vector<int>(3) : out);
        world.barrier();
    });
}

TEST_F(UcxEndpoints, ReportAMessageThatWasNotReceived) {
    run_as_threads(2, 20, [](World& world) {
        const auto transport = ucx_transport(world);
        const Rank other{1 - world.rank().index};
        const auto endpoint = transport->connect(needs(7, {other}));
        const auto another = transport->connect(needs(8, {other}));
        const auto message = numbered(0, 10);
        if (world.is_first()) {
            endpoint->post_send(5, other, bytes(message));
            wait(world, *endpoint);
        }
        world.barrier();
        EXPECT_EQ(another->left_over(), std::nullopt);
        if (world.is_first())
            EXPECT_EQ(endpoint->left_over(), std::nullopt);
        else
            EXPECT_NE(endpoint->left_over(), std::nullopt);
        world.barrier();
    });
}

TEST_F(UcxEndpoints, NameTheRankThatTheyWaitFor) {
    run_as_threads(3, 20, [](World& world) {
        const auto transport = ucx_transport(world);
        std::vector<int> in(2);
        std::vector<Rank> others;
        for (Rank rank : {Rank{0}, Rank{1}, Rank{2}})
            if (rank != world.rank()) others.push_back(rank);
        const auto endpoint = transport->connect(needs(1, others));
        const auto out = numbered(42, 1);
        if (world.rank() == Rank{1}) endpoint->post_send(0, {0}, bytes(out));
        if (world.is_first()) {
            endpoint->post_receive(0, {1}, std::as_writable_bytes(std::span(in).first(1)));
            endpoint->post_receive(0, {2}, std::as_writable_bytes(std::span(in).last(1)));
            Backoff backoff(world);
            while (endpoint->waits_for() == Rank{1} && backoff.pause()) endpoint->all_done();
            EXPECT_EQ(in[0], 42);
            EXPECT_EQ(endpoint->waits_for(), Rank{2});
            EXPECT_FALSE(endpoint->all_done());
        }
        world.barrier();  // open receives are cancelled with the endpoint
    });
}

// UCX itself aborts the process (`ulimit -n 23`, `ulimit -v 400000`) if one of these limits is
// reached inside a worker.
TEST_F(UcxEndpoints, AreRefusedWhereDescriptorsOrAddressSpaceAreTooFew) {
    const auto refusal = [] {
        std::string said;
        run_as_threads(2, 20, [&](World& world) {
            const Thrown thrown = thrown_by([&] { ucx_transport(world); });
            if (world.is_first()) said = thrown.text;
        });
        return said;
    };
    {
        const SmallLimit descriptors(RLIMIT_NOFILE, 40);
        EXPECT_NE(refusal().find("ulimit -n 4096"), std::string::npos) << refusal();
    }
    rlim_t pages = 0;
    std::ifstream("/proc/self/statm") >> pages;
    const SmallLimit space(RLIMIT_AS, pages * 4096 + (200U << 20));  // threads take some of it
    EXPECT_NE(refusal().find("ulimit -v unlimited"), std::string::npos) << refusal();
}

TEST_F(UcxEndpoints, AreClosedAloneOnARankThatHasGivenUp) {
    std::atomic<bool> has_left = false;
    run_as_threads(2, 20, [&](World& world) {
        auto transport = ucx_transport(world);
        world.has_given_up = true;
        for (int look = 0; !world.is_first() && !has_left && look < 500; ++look)
            std::this_thread::sleep_for(std::chrono::milliseconds(10));
        EXPECT_EQ(has_left, !world.is_first());
        transport.reset();
        has_left = true;
    });
}

TEST_F(UcxEndpoints, ReportTheUcxTransportsInUse) {
    run_as_threads(2, 20, [](World& world) {
        const std::string found = ucx_transport(world)->details();
        EXPECT_TRUE(found.starts_with("UCX " + ucx_version() + "; rank ")) << found;
        EXPECT_NE(found.find(world.is_first() ? "rank 0 to 1 by " : "rank 1 to 0 by "), found.npos)
            << found;
        EXPECT_NE(found.find('/'), found.npos) << found;
    });
}

}  // namespace
}  // namespace tutti
