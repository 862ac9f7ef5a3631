// SPDX-License-Identifier: Apache-2.0
#include "topology/detect/cpu_time.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include "tests/topology/fixture_tree.hpp"

namespace tutti {

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

}  // namespace tutti
