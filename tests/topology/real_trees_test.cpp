// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/topology/fixture_tree.hpp"
#include "tests/topology/shared_data.hpp"
#include "topology/detect/sysfs_host.hpp"

// Copies of /proc and /sys of real machines, described in SOURCES.md next to them.
namespace tutti {
namespace {

using Index = std::optional<int>;

/// An unpacked archive of such a tree; empty if the archive is missing.
class UnpackedTree {
public:
    UnpackedTree(const std::string& archive, const std::string& folder) {
        const auto file = shared_file("data/topology/sysfs/" + archive);
        if (!file) return;
        const std::string command =
            "tar xjf '" + file->string() + "' -C '" + tree_.root().string() + "' 2>/dev/null";
        if (std::system(command.c_str()) == 0) root_ = tree_.root() / folder;
    }
    bool is_there() const { return !root_.empty(); }
    Host host() const { return read_sysfs_host(root_); }
    Host cores() const { return read_sysfs_cores(root_); }

private:
    FixtureTree tree_;
    std::filesystem::path root_;
};

// The fast reading finds the same, except for the private caches of most cores.
void expect_same_cores(const Host& host, const Host& cores) {
    EXPECT_EQ(cores.cores, host.cores);
    EXPECT_EQ(cores.numa_nodes, host.numa_nodes);
    ASSERT_EQ(cores.packages.size(), host.packages.size());
    for (std::size_t i = 0; i < host.packages.size(); ++i)
        EXPECT_EQ(cores.packages[i].cores, host.packages[i].cores);
    const auto [first, last] = std::ranges::minmax_element(
        host.cores, {}, [](const Core& core) { return core.threads.front(); });
    std::vector<Cache> caches = host.caches;
    std::erase_if(caches, [&, first = first - host.cores.begin(),
                           last = last - host.cores.begin()](const Cache& cache) {
        return cache.cores.size() == 1 && cache.cores.front() != first &&
               cache.cores.front() != last;
    });
    EXPECT_FALSE(caches.empty());
    EXPECT_EQ(cores.caches, caches);
}

}  // namespace

TEST(RealTrees, Power9With6V100) {
    const UnpackedTree tree("nvidiagpunumanodes.tar.bz2", "nvidiagpunumanodes");
    if (!tree.is_there()) GTEST_SKIP() << "no copy of that machine's /sys here";
    const Host host = tree.host();
    EXPECT_EQ(host.cpu, (CpuIdentity{"ppc64le", "IBM", 9, 0}));
    expect_same_cores(host, tree.cores());
    EXPECT_EQ(host.packages.size(), 2u);
    EXPECT_EQ(host.numa_nodes.size(), 2u + 6u);  // each GPU's memory is a node
    ASSERT_EQ(host.devices.size(), 6u);
    for (const Device& device : host.devices) {
        EXPECT_EQ(device.kind, DeviceKind::gpu);
        const bool first_socket = device.pci_address < "0007";
        EXPECT_EQ(device.numa_node, Index{first_socket ? 0 : 8}) << device.pci_address;
    }
}

TEST(RealTrees, FourSocketXeonWithInfiniBand) {
    const UnpackedTree tree("40intel64-2g2n4c+pcilocality.tar.bz2", "40intel64-2g2n4c+pci");
    if (!tree.is_there()) GTEST_SKIP() << "no copy of that machine's /sys here";
    const Host host = tree.host();
    EXPECT_EQ(host.cpu, (CpuIdentity{"x86_64", "GenuineIntel", 6, 47}));
    expect_same_cores(host, tree.cores());
    EXPECT_EQ(host.packages.size(), 4u);
    EXPECT_EQ(host.cores.size(), 40u);
    EXPECT_TRUE(host.pcie_switches.empty());
    ASSERT_EQ(host.devices.size(), 5u);  // the display adapter only draws
    EXPECT_EQ(host.devices[0].ports, (std::vector<Port>{{"eth0", 1}}));
    EXPECT_EQ(host.devices[1].ports, (std::vector<Port>{{"eth1", 0}}));  // no cable
    const Device& infiniband = host.devices[4];
    EXPECT_EQ(infiniband.pci_address, "0000:43:00.0");
    EXPECT_EQ(infiniband.names, (std::vector<std::string>{"ib0", "qib0"}));
    EXPECT_EQ(infiniband.ports, (std::vector<Port>{{"qib0", 40}}));
    EXPECT_EQ(infiniband.numa_node, Index{2});
}

}  // namespace tutti
