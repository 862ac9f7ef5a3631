// SPDX-License-Identifier: Apache-2.0
// Message plans on memory that the host cannot access.
#include "collectives/transport/gpu/staged.hpp"

#include <gtest/gtest.h>

#include "collectives/transport/messages/loopback.hpp"
#include "on_far_device.hpp"
#include "tests/base/messages.hpp"
#include "threads.hpp"

namespace tutti {
namespace {

using test::FarDevice;
using test::FarTrial;

class OnADevice : public testing::TestWithParam<std::string_view> {
protected:
    static void expect_right(int ranks, const std::vector<FarTrial>& trials) {
        test::run_over(GetParam(), ranks, 20, [&](World& world) {
            FarDevice device(static_cast<unsigned>(world.rank().index));
            Planner planner(world);
            if (planner.refuses(GetParam())) return;
            for (const FarTrial& trial : trials) {
                const Job job{.collective = trial.call.collective, .ranks = ranks};
                if (trial.algorithm->refuses(job)) continue;
                EXPECT_EQ(test::wrong_elements(planner, device, GetParam(), trial), 0)
                    << name_of(trial.call.collective) << " " << trial.algorithm->name << " of "
                    << trial.call.count << " on " << ranks << " ranks"
                    << (trial.in_place ? " in place" : "");
            }
        });
    }
};

TEST_P(OnADevice, EveryPlanIsRightAndTheHostTouchesNothing) {
    for (const int ranks : {1, 2, 3, 4}) {
        std::vector<FarTrial> trials;
        for (const Algorithm& algorithm : catalog())
            for (const int count : {0, 1, ranks, 1030})
                for (const bool in_place : {false, true})
                    trials.push_back(
                        {{algorithm.collective, DataType::float32, Op::sum, Rank{ranks / 2}, count},
                         &algorithm,
                         in_place});
        expect_right(ranks, trials);
    }
}

TEST_P(OnADevice, TypesOperationsAndLanesAreRight) {
    std::vector<FarTrial> trials;
    for (const Collective collective : {Collective::all_reduce, Collective::reduce_scatter})
        for (const Algorithm* algorithm : algorithms_of(collective))
            for (const DataType type : {DataType::int8, DataType::half, DataType::float64})
                for (const Op op : all_ops())
                    trials.push_back(
                        {{collective, type, op, Rank{0}, 700}, algorithm, false, {128}});
    expect_right(3, trials);
}

INSTANTIATE_TEST_SUITE_P(Threads, OnADevice,
                         testing::ValuesIn(test::transports_of_threads(test::Rows::without_parts)),
                         test::name_of_transport);

// A device may support only a limited number of shares of a type, and only one rank notices that.
TEST(OnADeviceThatAddsUpFew, APlanThatAsksForMoreIsRefusedOnAllRanks) {
    run_as_threads(3, 20, [](World& world) {
        FarDevice device(static_cast<unsigned>(world.rank().index));
        if (world.rank() == Rank{1}) device.most_sources = 2;
        Planner planner(world);
        const Call call{.collective = Collective::all_reduce, .count = 100};
        const auto try_by = [&](const char* algorithm) {
            const FarTrial trial{call, &find_algorithm(Collective::all_reduce, algorithm)};
            EXPECT_EQ(test::wrong_elements(planner, device, "loopback", trial), 0);
        };
        try_by("ring");
        const std::string refused = refusal_by([&] { try_by("one-shot"); });
        EXPECT_NE(refused.find("2 shares of float"), std::string::npos) << refused;
    });
}

// A queue and a staged endpoint for each of two ranks, with pieces of 256 bytes.
void between_two(const std::function<void(World&, FarDevice&, DeviceQueue&, Endpoint&)>& body) {
    run_as_threads(2, 20, [&](World& world) {
        FarDevice device(7U + static_cast<unsigned>(world.rank().index));
        const auto transport =
            staged_transport(world, device, loopback_transport(world),
                             {.piece = 256, .least_piece = 256, .ring = 4096, .slots = 3});
        const auto queue = device.queue();
        const auto endpoint = transport->connect({.plan = 0,
                                                  .most_posts = 2,
                                                  .most_to_one = 1,
                                                  .most_bytes = 5000,
                                                  .peers = {},
                                                  .queue = queue.get()});
        body(world, device, *queue, *endpoint);
        world.barrier();
    });
}

TEST(StagedEndpoint, CutsAMessageIntoPiecesThatArriveInOrder) {
    between_two([](World& world, FarDevice& device, DeviceQueue&, Endpoint& endpoint) {
        const Rank me = world.rank(), other{1 - me.index};
        for (const std::size_t bytes : {1, 255, 256, 257, 768, 769, 5000}) {
            const auto out = device.allocate(bytes), in = device.allocate(bytes);
            for (std::size_t i = 0; i < bytes; ++i)
                device.seen(out.get())[i] = static_cast<std::byte>((i * 7 + i / 256) & 0xff);
            const long before = device.copies;
            endpoint.post_receive(0, other, {in.get(), bytes});
            endpoint.post_send(0, other, {out.get(), bytes});
            while (!endpoint.all_done()) continue;
            EXPECT_TRUE(std::equal(device.seen(in.get()), device.seen(in.get()) + bytes,
                                   device.seen(out.get())))
                << bytes;
            EXPECT_EQ(device.copies - before, 2 * static_cast<long>((bytes + 255) / 256));
        }
    });
}

TEST(StagedEndpoint, SendsWhatTheQueueIsStillToWrite) {
    between_two([](World& world, FarDevice& device, DeviceQueue& queue, Endpoint& endpoint) {
        const Rank me = world.rank(), other{1 - me.index};
        const std::size_t bytes = 1000;
        const auto first = device.allocate(bytes), out = device.allocate(bytes),
                   in = device.allocate(bytes);
        std::fill_n(device.seen(first.get()), bytes, std::byte{42});
        queue.copy(out.get(), first.get(), bytes);
        endpoint.post_receive(0, other, {in.get(), bytes});
        endpoint.post_send(0, other, {out.get(), bytes});
        while (!endpoint.all_done()) continue;
        EXPECT_EQ(std::count(device.seen(in.get()), device.seen(in.get()) + bytes, std::byte{42}),
                  bytes);
    });
}

TEST(StagedEndpoint, NamesThePeerThatItWaitsFor) {
    between_two([](World& world, FarDevice& device, DeviceQueue&, Endpoint& endpoint) {
        if (world.rank() != Rank{0}) return;
        const auto in = device.allocate(300);
        endpoint.post_receive(0, Rank{1}, {in.get(), 300});
        for (int look = 0; look < 100; ++look) EXPECT_FALSE(endpoint.all_done());
        EXPECT_EQ(endpoint.waits_for(), Rank{1});
    });
}

}  // namespace
}  // namespace tutti
