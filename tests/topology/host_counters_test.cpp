// SPDX-License-Identifier: Apache-2.0
#include "topology/meters/host_counters.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>

#include "tests/topology/fixture_tree.hpp"

namespace tutti {

TEST(HostCounters, AreWhatTheKernelHasCounted) {
    const FixtureTree tree;
    tree.write("sys/devices/system/cpu/cpu0/thermal_throttle/core_throttle_count", "3");
    tree.write("sys/devices/system/cpu/cpu0/thermal_throttle/package_throttle_count", "20");
    tree.write("sys/devices/system/cpu/cpu1/thermal_throttle/core_throttle_count", "100");
    tree.write("sys/devices/system/cpu/cpu1/thermal_throttle/package_throttle_count", "20");
    tree.write("proc/pressure/memory",
               "some avg10=1.50 avg60=0.50 avg300=0.10 total=777\n"
               "full avg10=9.00 avg60=9.00 avg300=9.00 total=9");
    tree.write("proc/pressure/cpu", "some avg10=0.00 avg60=0.00 avg300=0.00 total=4321");
    // user nice system idle iowait irq softirq steal guest guest_nice
    tree.write("proc/stat", "cpu  1 2 3 4 5 6 7 8 100 100\ncpu0 9 9 9 9 9 9 9 9 9 9");
    tree.write("proc/vmstat", "nr_free_pages 5\npswpin 10\npswpout 32\nthp_swpout 64");
    tree.write("proc/meminfo", "MemTotal: 9 kB\nSwapTotal:    3072 kB\nSwapFree:     1024 kB");
    EXPECT_EQ(read_host_counters(tree.root()), (HostCounters{.thermal_throttles = 123,
                                                             .memory_stall_us = 777,
                                                             .cpu_stall_us = 4321,
                                                             .ticks = 36,
                                                             .stolen_ticks = 8,
                                                             .swapped_pages = 42,
                                                             .memory_pressure_pct = 1.5,
                                                             .swap_used = {2 << 20}}));
}

// Two packages of two cores of two threads; core numbers start at 0 in each package.
TEST(HostCounters, HaveEachTimeACoreOrAPackageWasTooHotOnce) {
    const FixtureTree tree;
    const char* const of_packages[] = {"20", "5"};
    const char* const of_cores[] = {"3", "0", "100", "1000"};
    for (int cpu = 0; cpu < 8; ++cpu) {
        const std::string folder = "sys/devices/system/cpu/cpu" + std::to_string(cpu);
        const int core = cpu % 4, package = core / 2;
        tree.write(folder + "/topology/physical_package_id", std::to_string(package));
        tree.write(folder + "/topology/core_id", std::to_string(core % 2));
        tree.write(folder + "/thermal_throttle/package_throttle_count", of_packages[package]);
        tree.write(folder + "/thermal_throttle/core_throttle_count", of_cores[core]);
    }
    EXPECT_EQ(read_host_counters(tree.root()).thermal_throttles, 20 + 5 + 3 + 100 + 1000);
}

TEST(HostCounters, OfAKernelThatCountsNothingAre0) {
    const FixtureTree tree;
    EXPECT_EQ(read_host_counters(tree.root()), HostCounters{});
    tree.write("proc/stat", "cpu  1 2 3");  // before there was steal time
    EXPECT_EQ(read_host_counters(tree.root()).stolen_ticks, 0);
}

// rx_dropped also counts frames of unused protocols; the loopback is not a link.
TEST(HostCounters, HaveTheErrorsOfEachLink) {
    const FixtureTree tree;
    const std::string eth0 = "sys/class/net/eth0/statistics/";
    for (const auto& [counter, count] : {std::pair{"rx_errors", "1"},
                                         {"tx_errors", "20"},
                                         {"rx_missed_errors", "300"},
                                         {"tx_dropped", "4000"},
                                         {"rx_dropped", "50000"},
                                         {"rx_bytes", "600000"}})
        tree.write(eth0 + counter, count);
    tree.write("sys/class/net/lo/statistics/rx_errors", "7");
    const std::string port = "sys/class/infiniband/mlx5_0/ports/1/counters/";
    for (const auto& [counter, count] : {std::pair{"symbol_error", "1"},
                                         {"link_downed", "20"},
                                         {"port_xmit_discards", "300"},
                                         {"port_xmit_wait", "9"}})
        tree.write(port + counter, count);
    EXPECT_EQ(read_host_counters(tree.root()).link_errors,
              (std::map<std::string, std::int64_t>{{"eth0", 4321}, {"mlx5_0/1", 321}}));
}

TEST(CpuClock, IsInMegahertzAndUnknownWhereTheKernelDoesNotSay) {
    const FixtureTree tree;
    EXPECT_FALSE(cpu_clock(2, tree.root()));
    tree.write("sys/devices/system/cpu/cpu2/cpufreq/scaling_cur_freq", "1800000");
    EXPECT_FALSE(cpu_clock(2, tree.root()));
    tree.write("sys/devices/system/cpu/cpu2/cpufreq/cpuinfo_max_freq", "3500000");
    const auto clock = cpu_clock(2, tree.root());
    ASSERT_TRUE(clock);
    EXPECT_EQ(clock->now, 1800);
    EXPECT_EQ(clock->most, 3500);
    EXPECT_EQ(clock->base, 0);
}

TEST(CpuTime, IsThatOfProgramsAndOtherGuestsOnTheCpusAskedFor) {
    const FixtureTree tree;
    //                                user nice system idle iowait irq softirq steal guest
    tree.write("proc/stat",
               "cpu   9999 99 999 9999 99 99 99 99 0 0\n"
               "cpu0  1000 20 300 4000 50 60 70 8 0 0\n"
               "cpu1  1 0 0 0 0 0 0 0 0 0\n"
               "cpu10 100 0 0 0 0 0 0 0 0 0\n"
               "intr 12345 0 1\n");
    const std::int64_t tick_ns = 1'000'000'000 / sysconf(_SC_CLK_TCK);
    EXPECT_EQ(busy_ns({0}, tree.root()), (1000 + 20 + 300 + 8) * tick_ns);
    EXPECT_EQ(busy_ns({1, 10}, tree.root()), 101 * tick_ns);
    EXPECT_EQ(busy_ns({2}, tree.root()), std::nullopt);
}

TEST(CpuTime, IsUnknownWhereTheKernelDoesNotSay) {
    const FixtureTree tree;
    EXPECT_EQ(busy_ns({0}, tree.root()), std::nullopt);
    tree.write("proc/stat", "cpu0 of nothing\ncpu\n");
    EXPECT_EQ(busy_ns({0}, tree.root()), std::nullopt);
}

namespace {

std::vector<GpuCondition> conditions(const std::string& machine, const char* library) {
    const FixtureTree tree;
    tree.write("machine", machine);
    setenv("FAKE_NVML", (tree.root() / "machine").c_str(), /*overwrite=*/1);
    std::string why_not;
    const auto driver = NvmlLibrary::load(library, why_not);
    return gpu_conditions(driver.value());
}

const std::string two_gpus =
    "gpu 00000000:10:00.0 233010de 9 0 NVIDIA H100\n"
    "gpu 00000000:11:00.0 233010de 9 0 NVIDIA H100\n";

}  // namespace

TEST(GpuConditions, SayWhatHoldsTheClockDownAndHowManyErrorsThereWere) {
    for (const char* library : {FAKE_NVML_LIBRARY, FAKE_OLD_NVML_LIBRARY})
        EXPECT_EQ(conditions(two_gpus + "slowed 1 44\necc 1 5 2", library),
                  (std::vector<GpuCondition>{{.name = "GPU 0"},
                                             {.name = "GPU 1",
                                              .slowed_by = "heat, power cap",
                                              .ecc_corrected = 5,
                                              .ecc_uncorrected = 2}}));
}

// Idle, clocks set by a program, and clocks of a display.
TEST(GpuConditions, ThatAreNoTroubleAreNotNamed) {
    for (const char* harmless : {"1", "2", "100", "103"})
        EXPECT_EQ(conditions(two_gpus + "slowed 0 " + harmless, FAKE_NVML_LIBRARY)[0].slowed_by,
                  "");
}

TEST(GpuConditions, OfADriverThatDoesNotAnswerAreUnknown) {
    EXPECT_EQ(conditions(two_gpus + "slowed 0 8\necc 0 1 1\ndeaf 0", FAKE_NVML_LIBRARY)[0],
              GpuCondition{.name = "GPU 0"});
}

}  // namespace tutti
