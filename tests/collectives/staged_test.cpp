// SPDX-License-Identifier: Apache-2.0
// Plans by message on memory that the host cannot touch.
#include "collectives/transport/staged.hpp"

#include <gtest/gtest.h>

#include "collectives/execute/planner.hpp"
#include "collectives/transport/loopback.hpp"
#include "far_device.hpp"
#include "workloads/check_of_call.hpp"

namespace tutti {
namespace {

using test::FarDevice;

struct Trial {
    Call call;
    const Algorithm* algorithm;
    bool in_place = false;
    Bytes segment = {1024};
};

// Wrong elements over some runs, in the device's own view of its memory.
std::int64_t wrong_elements(Planner& planner, FarDevice& device, std::string_view transport,
                            const Trial& trial) {
    const int ranks = planner.world().size();
    const Rank me = planner.world().rank();
    const std::size_t input = input_bytes(trial.call, ranks, me),
                      output = output_bytes(trial.call, ranks, me);
    const auto at = trial.in_place ? in_place_offsets(trial.call, ranks, me)
                                   : InPlace{.input = 0, .output = input};
    const std::size_t bytes = std::max(at.input + input, at.output + output);
    const auto memory = device.allocate(bytes);
    const CallBuffers there{.input = {memory.get() + at.input, input},
                            .output = {memory.get() + at.output, output},
                            .in_place = trial.in_place,
                            .device = &device};
    const std::span here_in(device.seen(memory.get()) + at.input, input);
    const std::span here_out(device.seen(memory.get()) + at.output, output);
    const auto plan = planner.plan({trial.algorithm, transport, trial.segment}, trial.call, there);
    std::int64_t wrong = 0;
    for (std::uint64_t run = 0; run < 2; ++run) {
        const CheckCase check = check_of(trial.call, ranks, run);
        poison(here_out);
        fill_input(check, me, here_in);
        plan->run();
        wrong += count_wrong(check, me, here_out);
    }
    if (const auto left = plan->left_over()) throw Error(*left);
    planner.world().barrier();
    return wrong;
}

class OnADevice : public testing::TestWithParam<std::string_view> {
protected:
    static void expect_right(int ranks, const std::vector<Trial>& trials) {
        run_as_threads(ranks, 20, [&](World& world) {
            FarDevice device(static_cast<unsigned>(world.rank().index));
            Planner planner(world);
            if (planner.refuses(GetParam())) return;
            for (const Trial& trial : trials) {
                const Job job{.collective = trial.call.collective, .ranks = ranks};
                if (trial.algorithm->refuses(job)) continue;
                EXPECT_EQ(wrong_elements(planner, device, GetParam(), trial), 0)
                    << name_of(trial.call.collective) << " " << trial.algorithm->name << " of "
                    << trial.call.count << " on " << ranks << " ranks"
                    << (trial.in_place ? " in place" : "");
            }
        });
    }
};

TEST_P(OnADevice, EveryPlanIsRightAndTheHostTouchesNothing) {
    for (const int ranks : {1, 2, 3, 4}) {
        std::vector<Trial> trials;
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
    std::vector<Trial> trials;
    for (const Collective collective : {Collective::all_reduce, Collective::reduce_scatter})
        for (const Algorithm* algorithm : algorithms_of(collective))
            for (const DataType type : {DataType::int8, DataType::half, DataType::float64})
                for (const Op op : all_ops())
                    trials.push_back(
                        {{collective, type, op, Rank{0}, 700}, algorithm, false, {128}});
    expect_right(3, trials);
}

INSTANTIATE_TEST_SUITE_P(Threads, OnADevice, testing::Values("loopback", "ucx", "shm"),
                         [](const auto& param) { return std::string(param.param); });

// A queue and a staged wire for each of two ranks, with pieces of 256 bytes.
void between_two(const std::function<void(World&, FarDevice&, DeviceQueue&, Wire&)>& body) {
    run_as_threads(2, 20, [&](World& world) {
        FarDevice device(7U + static_cast<unsigned>(world.rank().index));
        const auto transport =
            staged_transport(world, device, loopback_transport(world),
                             {.piece = 256, .least_piece = 256, .ring = 4096, .slots = 3});
        const auto queue = device.queue();
        const auto wire = transport->connect({.plan = 0,
                                              .most_posts = 2,
                                              .most_to_one = 1,
                                              .most_bytes = 5000,
                                              .peers = {},
                                              .queue = queue.get()});
        body(world, device, *queue, *wire);
        world.barrier();
    });
}

TEST(StagedWire, CutsAMessageIntoPiecesThatArriveInOrder) {
    between_two([](World& world, FarDevice& device, DeviceQueue&, Wire& wire) {
        const Rank me = world.rank(), other{1 - me.index};
        for (const std::size_t bytes : {1, 255, 256, 257, 768, 769, 5000}) {
            const auto out = device.allocate(bytes), in = device.allocate(bytes);
            for (std::size_t i = 0; i < bytes; ++i)
                device.seen(out.get())[i] = static_cast<std::byte>((i * 7 + i / 256) & 0xff);
            const long before = device.copies;
            wire.post_receive(0, other, {in.get(), bytes});
            wire.post_send(0, other, {out.get(), bytes});
            while (!wire.all_done()) continue;
            EXPECT_TRUE(std::equal(device.seen(in.get()), device.seen(in.get()) + bytes,
                                   device.seen(out.get())))
                << bytes;
            EXPECT_EQ(device.copies - before, 2 * static_cast<long>((bytes + 255) / 256));
        }
    });
}

TEST(StagedWire, SendsWhatTheQueueIsStillToWrite) {
    between_two([](World& world, FarDevice& device, DeviceQueue& queue, Wire& wire) {
        const Rank me = world.rank(), other{1 - me.index};
        const std::size_t bytes = 1000;
        const auto first = device.allocate(bytes), out = device.allocate(bytes),
                   in = device.allocate(bytes);
        std::fill_n(device.seen(first.get()), bytes, std::byte{42});
        queue.copy(out.get(), first.get(), bytes);
        wire.post_receive(0, other, {in.get(), bytes});
        wire.post_send(0, other, {out.get(), bytes});
        while (!wire.all_done()) continue;
        EXPECT_EQ(std::count(device.seen(in.get()), device.seen(in.get()) + bytes, std::byte{42}),
                  bytes);
    });
}

TEST(StagedWire, NamesThePeerThatItWaitsFor) {
    between_two([](World& world, FarDevice& device, DeviceQueue&, Wire& wire) {
        if (world.rank() != Rank{0}) return;
        const auto in = device.allocate(300);
        wire.post_receive(0, Rank{1}, {in.get(), 300});
        for (int look = 0; look < 100; ++look) EXPECT_FALSE(wire.all_done());
        EXPECT_EQ(wire.waits_for(), Rank{1});
    });
}

}  // namespace
}  // namespace tutti
