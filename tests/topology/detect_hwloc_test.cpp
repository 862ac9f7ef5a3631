// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>

#include "topology/detect/detect.hpp"
#include "topology/detect/sysfs_host.hpp"
#include "topology/machine/fingerprint.hpp"

namespace tutti {
namespace {

/// Makes hwloc describe an invented machine while the object exists.
class InventedMachine {
public:
    explicit InventedMachine(const char* description) {
        setenv("HWLOC_SYNTHETIC", description, /*overwrite=*/1);
    }
    ~InventedMachine() { unsetenv("HWLOC_SYNTHETIC"); }
    InventedMachine(const InventedMachine&) = delete;
    InventedMachine& operator=(const InventedMachine&) = delete;
};

}  // namespace

TEST(Hwloc, SeesTheCoresAndDevicesThatTheKernelLists) {
    const Host kernel = read_sysfs_host("/");
    if (kernel.caches.empty()) GTEST_SKIP() << "/sys does not describe this machine";
    const Host host = detect_structure();
    EXPECT_EQ(host.cores.size(), kernel.cores.size());
    EXPECT_EQ(host.devices.size(), kernel.devices.size());
}

TEST(Hwloc, DescribesAMachineOfManyLevels) {
    const InventedMachine machine("pack:2 numa:2 l3:1 l2:4 core:1 pu:2");
    const Host host = detect_structure();
    ASSERT_EQ(host.packages.size(), 2u);
    ASSERT_EQ(host.numa_nodes.size(), 4u);
    ASSERT_EQ(host.cores.size(), 16u);
    EXPECT_EQ(host.cores[5].threads, (std::vector<int>{10, 11}));
    EXPECT_EQ(host.packages[1].cores, (CoreSet{8, 9, 10, 11, 12, 13, 14, 15}));
    EXPECT_EQ(host.numa_nodes[1].cores, (CoreSet{4, 5, 6, 7}));
    EXPECT_EQ(std::ranges::count(host.caches, 3, &Cache::level), 4);
    EXPECT_EQ(std::ranges::count(host.caches, 2, &Cache::level), 16);
}

TEST(Hwloc, DistinguishesMachines) {
    const auto of = [](const char* description) {
        const InventedMachine machine(description);
        return fingerprint(detect_structure());
    };
    EXPECT_EQ(of("pack:2 l3:1 core:4 pu:2"), of("pack:2 l3:1 core:4 pu:2"));
    EXPECT_NE(of("pack:2 l3:1 core:4 pu:2"), of("pack:2 l3:1 core:4 pu:1"));
    EXPECT_NE(of("pack:2 l3:1 core:4 pu:2"), of("pack:1 l3:2 core:4 pu:2"));
    EXPECT_NE(of("pack:2 l3:1 core:4 pu:2"), of("pack:2 l3:1(size=8MB) core:4 pu:2"));
}

}  // namespace tutti
