// SPDX-License-Identifier: Apache-2.0
// Memory of a rank's own device, and how ranks agree on missing resources.
#include <gtest/gtest.h>

#include "collectives/device/accelerator.hpp"
#include "collectives/planner/planner.hpp"
#include "collectives/transport/gpu/device_memory.hpp"
#include "tests/base/messages.hpp"

namespace tutti {
namespace {

TEST(LoneMemory, IsPrivateToItsRankAndOnItsDevice) {
    const auto device = emulated_device(std::nullopt);
    const LoneMemory memory(Rank{1}, device, 1000);
    EXPECT_EQ(memory.mine().size(), 1000u);
    EXPECT_TRUE(memory.of(Rank{0}).empty());
    EXPECT_EQ(memory.device(), device.get());
    EXPECT_EQ(memory.offset_of(memory.mine().subspan(300, 700)), 300u);
    EXPECT_EQ(memory.offset_of({memory.mine().data() + 300, 701}), std::nullopt);
    EXPECT_TRUE(LoneMemory(Rank{0}, device, 0).mine().empty());
}

// Each rank has a separate device, like ranks on several hosts.
TEST(LoneMemory, IsReachedByMessages) {
    run_as_threads(3, 20, [](World& world) {
        constexpr std::int64_t count = 1000;
        const std::size_t bytes = count * sizeof(float);
        const LoneMemory memory(world.rank(), emulated_device(std::nullopt), bytes);
        auto* const values = reinterpret_cast<float*>(memory.mine().data());
        Planner planner(world);
        const Algorithm& ring = find_algorithm(Collective::all_reduce, "ring");
        for (const char* transport : {"loopback", "shm", "shm-lines"}) {
            ASSERT_EQ(planner.refuses(transport, BufferKind::device, &memory), std::nullopt);
            std::fill_n(values, count, static_cast<float>(1 + world.rank().index));
            const CallBuffers buffers{memory.mine(), memory.mine(), true};
            const auto plan = planner.plan({&ring, {.transport = std::string(transport)}},
                                           {.count = count}, buffers, &memory);
            plan->run();
            EXPECT_EQ(std::count(values, values + count, 6.0F), count) << transport;
            world.barrier();
        }
        // Blocks of a device would need access to the peers' memory.
        EXPECT_NE(planner.refuses("cuda-emulated", BufferKind::device, &memory), std::nullopt);
    });
}

TEST(WhatIsMissing, IsNothingWhereAllHaveIt) {
    run_as_threads(
        3, 20, [](World& world) { EXPECT_EQ(missing_on_any(world, std::nullopt), std::nullopt); });
}

TEST(WhatIsMissing, IsReportedAsTheFirstRankPutsItWhereAllLackIt) {
    run_as_threads(3, 20, [](World& world) {
        EXPECT_EQ(missing_on_any(world, "no GPU at " + std::to_string(world.rank().index)),
                  "no GPU at 0");
    });
}

TEST(WhatIsMissing, IsReportedWithTheRankAndItsHostWhereOthersHaveIt) {
    run_as_threads(3, 20, [](World& world) {
        std::optional<std::string> here;
        if (world.rank().index == 1) here = "no GPU here";
        const auto reason = missing_on_any(world, here);
        ASSERT_TRUE(reason);
        EXPECT_TRUE(reason->starts_with("no GPU here (")) << *reason;
        EXPECT_EQ(gather_all_texts(world, *reason), std::vector<std::string>(3, *reason));
    });
}

TEST(MadeByAll, IsGivenWhereAllHaveMadeItAndRefusedOnAllWhereOneHasNot) {
    run_as_threads(3, 20, [](World& world) {
        const auto make = [&](int who_fails) {
            return make_on_all_ranks(world, "a number", [&] {
                if (world.rank().index == who_fails) throw Error("too large");
                return 10 + world.rank().index;
            });
        };
        EXPECT_EQ(make(-1), 10 + world.rank().index);
        EXPECT_EQ(thrown_by([&] { make(2); }).text, "a number: too large");
    });
}

TEST(MadeByAll, IsRefusedOnAllWhereOneHasNoMemory) {
    run_as_threads(3, 20, [](World& world) {
        const auto make = [&] {
            make_on_all_ranks(world, "a number", [&] {
                if (world.rank().index == 1) throw std::bad_alloc();
                return 10;
            });
        };
        EXPECT_EQ(thrown_by(make).text, "a number: std::bad_alloc");
    });
}

}  // namespace
}  // namespace tutti
