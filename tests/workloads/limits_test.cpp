// SPDX-License-Identifier: Apache-2.0
#include "workloads/limits/limits.hpp"

#include <gtest/gtest.h>

#include <mutex>
#include <thread>

#include "workloads/limits/rank_team.hpp"

namespace tutti {
namespace {

std::vector<Limits> limits_of_ranks(int ranks) {
    std::vector<Limits> all;
    std::mutex mutex;
    run_as_threads(ranks, 60, [&](World& world) {
        const Limits limits = measure_limits(world, 0.1);
        const std::lock_guard lock(mutex);
        all.push_back(limits);
    });
    return all;
}

TEST(MeasureLimits, ReportsTheSameOnAllRanks) {
    const auto all = limits_of_ranks(2);
    EXPECT_EQ(all.at(0), all.at(1));
}

TEST(MeasureLimits, FindsSomethingOfEverything) {
    const Limits limits = limits_of_ranks(2).at(0);
    EXPECT_GE(limits.cores, 1);
    for (const Curve& curve : limits.curves)
        for (const double rate : curve.rates.gbps) EXPECT_GT(rate, 0) << curve.pass;
    for (const char* pass : {"copy", "add", "add2", "add_in_place", "add2_in_place"})
        for (const int cores : {1, limits.cores})
            EXPECT_NE(limits.curve(pass, "cached", cores), nullptr) << pass;
    EXPECT_TRUE(know_rewritten_input(limits));
    EXPECT_EQ(limits.curve("add2_rewritten", "cached", 2) != nullptr, limits.cores == 2);
    EXPECT_EQ(limits.signal_latencies.size(), static_cast<std::size_t>(limits.cores - 1));
    EXPECT_GT(limits.clock_ns, 0);
    EXPECT_GT(limits.yield_ns, 0);
    EXPECT_GT(limits.wake_same_core_ns, 0);
    EXPECT_FALSE(limits.stream_trials.empty());
    EXPECT_GT(limits.stream_from, Bytes{0});
    EXPECT_EQ(limits.topo_sha256.size(), 64U);
}

TEST(MeasureLimits, LeavesRanksBeyondTheCoresOut) {
    const auto all = limits_of_ranks(2 * static_cast<int>(std::thread::hardware_concurrency()) + 1);
    for (const Limits& limits : all) EXPECT_EQ(limits, all[0]);
    EXPECT_LE(limits_of_ranks(1).at(0).cores, 1);
}

// Ranks of the first host measure, while a watchdog watches the world of all hosts.
TEST(MeasureLimits, ShowTheWholeWorldThatTheyGoOn) {
    run_as_threads(1, 60, [](World& all) {
        run_as_threads(1, 60, [&](World& host) {
            host.parent = &all;
            RankTeam team(host, 1, 64);
            const long before = all.heartbeats;
            for (int i = 0; i < 3; ++i) team.meet();
            EXPECT_EQ(all.heartbeats - before, 3);
        });
    });
}

}  // namespace
}  // namespace tutti
