// SPDX-License-Identifier: Apache-2.0
// A host on which something goes wrong while a launch runs.
#include <gtest/gtest.h>

#include <chrono>
#include <thread>

#include "base/clock.hpp"
#include "results/tables/cautions.hpp"
#include "tests/base/messages.hpp"
#include "tests/topology/fixture_tree.hpp"
#include "workloads/health/health_watch.hpp"

namespace tutti {
namespace {

const char* const no_driver = "/no/such/library.so.1";

// "name value of", of one host.
std::vector<std::string> readings_of(const HostHealth& health) {
    std::vector<std::string> all;
    for (const HealthReading& reading : health.readings) {
        all.push_back(reading.name + " " + std::to_string(static_cast<long>(reading.value)));
        if (!reading.of.empty()) all.back() += " " + reading.of;
    }
    return all;
}

// Two ranks over ten seconds.
struct TenSeconds {
    HostLook before{.at_ns = 1, .ranks = {{.rank = 4}, {.rank = 5}}};
    HostLook after{.at_ns = 10'000'000'001, .ranks = {{.rank = 4}, {.rank = 5}}};

    std::vector<std::string> readings(Cores cores = Cores::one_each) const {
        return readings_of(health_between(before, after, cores));
    }
};

using Lines = std::vector<std::string>;

}  // namespace

TEST(Health, OfAQuietHostIsNothing) {
    TenSeconds quiet;
    quiet.before.counters = {.thermal_throttles = 9,
                             .memory_stall_us = 8,
                             .cpu_stall_us = 7,
                             .ticks = 1000,
                             .stolen_ticks = 6,
                             .swapped_pages = 5,
                             .link_errors = {{"eth0", 4}}};
    quiet.before.gpus = {{.name = "GPU 0", .ecc_corrected = 3, .ecc_uncorrected = 2}};
    quiet.after.counters = quiet.before.counters;
    quiet.after.counters.ticks = 3000;
    quiet.after.gpus = quiet.before.gpus;
    EXPECT_EQ(quiet.readings(), Lines{});
}

TEST(Health, IsByHowMuchCountersGrew) {
    TenSeconds run;
    run.before.counters = {.thermal_throttles = 100, .ticks = 5000, .swapped_pages = 1};
    run.before.counters.link_errors = {{"eth0", 10}, {"eth1", 10}};
    run.after.counters = {.thermal_throttles = 103,
                          .memory_stall_us = 500'000,  // out of ten seconds
                          .cpu_stall_us = 3'000'000,
                          .ticks = 7000,
                          .stolen_ticks = 80,
                          .swapped_pages = 43};
    run.after.counters.link_errors = {{"eth0", 10}, {"eth1", 17}, {"eth2", 99}};  // eth2 came up
    run.before.ranks[1].preemptions = 1000;
    run.after.ranks[0].preemptions = 200;
    run.after.ranks[1].preemptions = 1700;
    run.before.gpus = {{.name = "GPU 0", .ecc_corrected = 3}};
    run.after.gpus = {
        {.name = "GPU 0", .slowed_by = "heat", .ecc_corrected = 5, .ecc_uncorrected = 1}};
    EXPECT_EQ(
        run.readings(),
        (Lines{"gpu_slowed 1 GPU 0 (heat)", "steal_pct 4", "memory_stall_pct 5", "cpu_stall_pct 30",
               "preemptions_per_s 70 rank 5", "swapped_pages 42", "thermal_throttles 3",
               "link_errors 7 eth1", "ecc_corrected 2 GPU 0", "ecc_uncorrected 1 GPU 0"}));
}

// The driver was reloaded, or the guest moved to another machine.
TEST(Health, OfCountersThatWereResetOrRanBackwardsIsNothing) {
    TenSeconds run;
    run.before.counters = {.thermal_throttles = 9,
                           .memory_stall_us = 8'000'000,
                           .cpu_stall_us = 7'000'000,
                           .ticks = 1000,
                           .stolen_ticks = 600,
                           .swapped_pages = 5,
                           .link_errors = {{"eth0", 4}}};
    run.before.ranks[0].preemptions = run.before.ranks[1].preemptions = 1000;
    run.before.gpus = {{.name = "GPU 0", .ecc_corrected = 3, .ecc_uncorrected = 2}};
    run.after.counters = {.ticks = 3000, .link_errors = {{"eth0", 0}}};
    run.after.gpus = {{.name = "GPU 0"}};
    EXPECT_EQ(run.readings(), Lines{});
}

TEST(Health, OfRanksThatShareCoresSaysNothingOfTheirWaits) {
    TenSeconds run;
    run.after.counters.cpu_stall_us = 3'000'000;
    run.after.ranks[0].preemptions = 5000;
    EXPECT_EQ(run.readings(Cores::shared), Lines{});
}

// Compares with the base clock if the kernel reports one, otherwise with the maximum.
TEST(Health, HasTheClockOfTheSlowestCpu) {
    TenSeconds run;
    run.after.ranks[0] = {.rank = 4, .cpu = 2, .clock = {.now = 3000, .most = 4000}};
    run.after.ranks[1] = {.rank = 5, .cpu = 7, .clock = {.now = 1000, .most = 4000}};
    const auto starts_with = [&](const std::string& expected) {
        const Lines lines = run.readings();
        return lines.size() == 1 && lines.front().starts_with(expected) &&
               lines.front().find("CPU 7") != std::string::npos;
    };
    EXPECT_TRUE(starts_with("clock_pct_of_most 25"));
    for (RankLook& rank : run.after.ranks) rank.clock.base = 2000;
    EXPECT_TRUE(starts_with("clock_pct_of_base 50"));
}

TEST(Health, AtTheBeginIsWhatHoldsThen) {
    HostLook look;
    look.counters = {.thermal_throttles = 9, .memory_pressure_pct = 2, .swap_used = {300 << 20}};
    look.gpus = {{.name = "GPU 0", .slowed_by = "heat", .ecc_corrected = 9, .ecc_uncorrected = 1}};
    EXPECT_EQ(readings_of(health_at(look)),
              (Lines{"gpu_slowed 1 GPU 0 (heat)", "memory_pressure_pct 2", "swap_used_MiB 300",
                     "ecc_uncorrected 1 GPU 0"}));
}

TEST(Health, OfALaunchWithTroubleIsKnownToAllRanks) {
    const FixtureTree tree;
    const std::string throttles =
        "sys/devices/system/cpu/cpu0/thermal_throttle/core_throttle_count";
    tree.write(throttles, "5");
    tree.write("proc/pressure/memory", "some avg10=40.00 avg60=0.00 avg300=0.00 total=0");
    run_as_threads(3, 60, [&](World& world) {
        world.oversubscribed = true;  // by whom is no matter here
        const HealthWatch watch(world, tree.root(), no_driver);
        const Launch launch{.session = "s", .health = watch.at_begin()};
        world.barrier();
        if (world.is_first()) tree.write(throttles, "12");
        world.barrier();
        const End end{.session = "s", .health = watch.since()};
        ASSERT_EQ(launch.health.size(), 1u);
        ASSERT_EQ(end.health.size(), 1u);
        const std::string host = "host " + end.health[0].host + ": ";
        const Lines all = cautions({&launch, 1}, {&end, 1});
        ASSERT_EQ(all.size(), 2u);
        for (const std::string& one : all) EXPECT_TRUE(one.starts_with(host)) << one;
        EXPECT_TRUE(holds(all[0], "40 %"));
        EXPECT_TRUE(holds(all[1], "7 times"));
    });
}

// A rank that sleeps gives up its core by itself.
TEST(Health, CountsNoSleepsOfARankAsPreemptions) {
    constexpr int sleeps = 300;
    const FixtureTree tree;
    run_as_threads(1, 60, [&](World& world) {
        world.oversubscribed = false;
        const HealthWatch watch(world, tree.root(), no_driver);
        const std::int64_t began = now_ns();
        for (int i = 0; i < sleeps; ++i)
            std::this_thread::sleep_for(std::chrono::microseconds(100));
        double preemptions = 0;
        for (const HostHealth& host : watch.since())
            for (const HealthReading& reading : host.readings)
                if (reading.name == "preemptions_per_s")
                    preemptions = reading.value * seconds_since(began);
        EXPECT_LT(preemptions, sleeps / 2);
    });
}

TEST(Health, OfAHostThatTellsNothingIsLeftOut) {
    const FixtureTree tree;
    run_as_threads(2, 60, [&](World& world) {
        world.oversubscribed = true;
        const HealthWatch watch(world, tree.root(), no_driver);
        EXPECT_TRUE(watch.at_begin().empty());
        EXPECT_TRUE(watch.since().empty());
    });
}

}  // namespace tutti
