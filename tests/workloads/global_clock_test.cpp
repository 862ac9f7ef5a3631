// SPDX-License-Identifier: Apache-2.0
// Threads that play hosts, each with a clock of its own.
#include "workloads/timing/global_clock.hpp"

#include <gtest/gtest.h>

#include <cstdlib>

#include "workloads/timing/batch.hpp"
#include "workloads/timing/measure.hpp"

namespace tutti {
namespace {

constexpr std::int64_t one_second = 1'000'000'000;

std::int64_t shift_of(int host) { return host * host * 1000 * one_second; }

// Five hosts of one, two of three ranks: the tree has more than one level, and followers.
void on_hosts(const std::function<void(World&, const Placement&, int host)>& body) {
    for (const int per_host : {1, 3})
        run_as_threads(per_host == 1 ? 5 : 6, 60, [&](World& world) {
            const Placement hosts = Placement::in_nodes_of(world.size(), per_host);
            body(world, hosts, world.rank().index / per_host);
        });
}

}  // namespace

// How near depends on how busy the machine is; that it is no further than it says does not.
TEST(GlobalClock, IsTheFirstHostsOnAllRanks) {
    on_hosts([](World& world, const Placement& hosts, int host) {
        GlobalClock clock(world, hosts, [=] { return now_ns() + shift_of(host); });
        ClockSync record;
        std::int64_t reach = 0;
        for (int round = 0; round < 3; ++round) {
            record = clock.record();
            reach = record.reach_ns + record.residual_ns;
            const std::int64_t now = now_ns();
            EXPECT_LE(std::abs(clock.from_local(now + shift_of(host)) - now), reach);
            EXPECT_LE(std::abs(clock.to_local(now) - now - shift_of(host)), reach);
            clock.refresh();
        }
        ASSERT_EQ(record.offset_ns.size(), hosts.nodes().size());
        for (std::size_t i = 0; i < record.offset_ns.size(); ++i)
            EXPECT_LE(std::abs(record.offset_ns[i] - shift_of(static_cast<int>(i))), reach);
        EXPECT_EQ(record.offset_ns[0], 0);
        EXPECT_EQ(record.drift_ppm.size(), record.offset_ns.size());
    });
}

TEST(GlobalClock, OfOneHostIsItsOwnAndCostsNothing) {
    run_as_threads(2, 60, [](World& world) {
        GlobalClock clock(world);
        clock.refresh();
        EXPECT_EQ(clock.from_local(12345), 12345);
        EXPECT_EQ(clock.to_local(12345), 12345);
        EXPECT_TRUE(clock.record().mode.empty());
    });
}

}  // namespace tutti
