// SPDX-License-Identifier: Apache-2.0
#include "topology/detect/sysfs_devices.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "tests/topology/pci_files.hpp"
#include "topology/detect/sysfs_host.hpp"

namespace tutti {
namespace {

using Index = std::optional<int>;

Host devices_in(const FixtureTree& tree) { return with_sysfs_devices({}, tree.root()); }

// A root port and a switch with a GPU and a NIC below its two downstream ports; the NIC's port has
// fewer lanes than the NIC.
void write_switch(const FixtureTree& tree) {
    const std::string root_port = "0000:00:01.0", up = "0000:01:00.0";
    const std::string to_gpu = "0000:02:00.0", to_nic = "0000:02:01.0";
    const std::string inside = root_port + "/" + up;
    write_device(tree, {root_port, "0x060400", "0x8086", "0x2030", "1", "16.0 GT/s PCIe", "16"});
    write_device(tree, {up, "0x060400", "0x1000", "0xc030", "1", "16.0 GT/s PCIe", "16"},
                 root_port);
    write_device(tree, {to_gpu, "0x060400", "0x1000", "0xc030", "1", "16.0 GT/s PCIe", "16"},
                 inside);
    write_device(tree, {to_nic, "0x060400", "0x1000", "0xc030", "1", "16.0 GT/s PCIe", "8"},
                 inside);
    write_device(tree,
                 {"0000:03:00.0", "0x030200", "0x10de", "0x20b0", "1", "16.0 GT/s PCIe", "16"},
                 inside + "/" + to_gpu);
    write_device(tree,
                 {"0000:04:00.0", "0x020700", "0x15b3", "0x101b", "1", "32.0 GT/s PCIe", "16"},
                 inside + "/" + to_nic);
}

}  // namespace

TEST(SysfsDevices, CountASwitchOnceByItsUpstreamPort) {
    const FixtureTree tree;
    write_switch(tree);
    const Host host = devices_in(tree);
    ASSERT_EQ(host.pcie_switches.size(), 1u);
    EXPECT_EQ(host.pcie_switches[0].pci_address, "0000:01:00.0");
    EXPECT_EQ(host.pcie_switches[0].pci_id, "1000:c030");
    EXPECT_EQ(host.pcie_switches[0].above, std::nullopt);
    EXPECT_EQ(host.pcie_switches[0].link, (PcieLink{16, 16}));
    ASSERT_EQ(host.devices.size(), 2u);
    EXPECT_EQ(host.devices[0].above, Index{0});
    EXPECT_EQ(host.devices[1].above, Index{0});
}

TEST(SysfsDevices, LinkIsWhatBothEndsCanDo) {
    const FixtureTree tree;
    write_switch(tree);
    const Host host = devices_in(tree);
    EXPECT_EQ(host.devices[0].link, (PcieLink{16, 16}));
    EXPECT_EQ(host.devices[1].link, (PcieLink{16, 8}));
}

TEST(SysfsDevices, LinkIgnoresWhatIsUnknown) {
    const FixtureTree tree;
    const std::string port = "0000:00:01.0";
    write_device(tree, {port, "0x060400", "0x8086", "0x2030", "", "8.0 GT/s PCIe", "255"});
    write_device(tree, {"0000:01:00.0", "0x030200", "0x10de", "0x20b0", "", "Unknown", "16"}, port);
    EXPECT_EQ(devices_in(tree).devices.at(0).link, (PcieLink{8, 16}));
}

TEST(SysfsDevices, ASwitchBelowASwitchComesAfterIt) {
    const FixtureTree tree;
    std::string above;
    for (const std::string bridge :
         {"0000:00:01.0", "0000:01:00.0", "0000:02:00.0", "0000:03:00.0", "0000:04:00.0"}) {
        write_device(tree, {bridge, "0x060400", "0x1000", "0xc030", "0", "16.0 GT/s PCIe", "16"},
                     above);
        above += (above.empty() ? "" : "/") + bridge;
    }
    write_device(tree, {"0000:05:00.0", "0x120000", "0x1002", "0x7408", "0"}, above);
    const Host host = devices_in(tree);
    ASSERT_EQ(host.pcie_switches.size(), 2u);
    EXPECT_EQ(host.pcie_switches[0].pci_address, "0000:01:00.0");
    EXPECT_EQ(host.pcie_switches[1].pci_address, "0000:03:00.0");
    EXPECT_EQ(host.pcie_switches[1].above, Index{0});
    EXPECT_EQ(host.devices.at(0).above, Index{1});
}

TEST(SysfsDevices, BelowARootPortThereIsNoSwitch) {
    const FixtureTree tree;
    write_device(tree, {"0000:00:01.0", "0x060400", "0x8086", "0x2030", "0"});
    write_device(tree, {"0000:01:00.0", "0x020000", "0x8086", "0x1521", "0"}, "0000:00:01.0");
    const Host host = devices_in(tree);
    EXPECT_TRUE(host.pcie_switches.empty());
    EXPECT_EQ(host.devices.at(0).above, std::nullopt);
}

TEST(SysfsDevices, KnowsEachKindByClassAndVendor) {
    EXPECT_EQ(device_kind(0x0302, 0x10de), DeviceKind::gpu);
    EXPECT_EQ(device_kind(0x1200, 0x1002), DeviceKind::gpu);
    EXPECT_EQ(device_kind(0x0680, 0x10de), DeviceKind::nvswitch);
    EXPECT_EQ(device_kind(0x0680, 0x1014), std::nullopt);  // POWER's end of an NVLink
    EXPECT_EQ(device_kind(0x0207, 0x15b3), DeviceKind::nic);
    EXPECT_EQ(device_kind(0x0c06, 0x1077), DeviceKind::nic);
    EXPECT_EQ(device_kind(0x0300, 0x1a03), std::nullopt);
    EXPECT_EQ(device_kind(0x0300, 0x10de), DeviceKind::gpu);
    EXPECT_EQ(device_kind(0x0300, 0x8086), std::nullopt);  // part of the processor
    EXPECT_EQ(device_kind(0x0380, 0x8086), DeviceKind::gpu);
    EXPECT_EQ(device_kind(0x1200, 0x8086), std::nullopt);  // FPGAs and NPUs
    EXPECT_EQ(device_kind(0x0108, 0x144d), std::nullopt);
}

TEST(SysfsDevices, LeaveOutVirtualFunctionsIfTheRealOneShowsTheirInterfaces) {
    const FixtureTree tree;
    const std::string real =
        write_device(tree, {"0000:01:00.0", "0x020000", "0x15b3", "0x1017", "0"});
    const std::string copy =
        write_device(tree, {"0000:01:00.1", "0x020000", "0x15b3", "0x1018", "0"});
    tree.make_folder(copy + "net/eth1");
    tree.link(copy + "physfn", "../0000:01:00.0");
    EXPECT_EQ(devices_in(tree).devices.size(),
              2u);  // a container that sees only the copy's interfaces
    tree.make_folder(real + "net/eth0");
    ASSERT_EQ(devices_in(tree).devices.size(), 1u);
    EXPECT_EQ(devices_in(tree).devices[0].names, std::vector<std::string>{"eth0"});
}

TEST(SysfsDevices, AreAtNoNodeThatTheHostDoesNotHave) {
    const FixtureTree tree;
    write_device(tree, {"0000:17:00.0", "0x030200", "0x10de", "0x2335", "7"});
    write_device(tree, {"0000:18:00.0", "0x030200", "0x10de", "0x2335", "8"});
    const Host host = with_sysfs_devices({.numa_nodes = {{0, {}, {}}, {8, {}, {}}}}, tree.root());
    EXPECT_EQ(host.devices.at(0).numa_node, std::nullopt);
    EXPECT_EQ(host.devices.at(1).numa_node, Index{8});
}

TEST(SysfsDevices, NearCoresNameTheNodeThatTheFirmwareDoesNot) {
    const FixtureTree tree;
    const std::string gpu =
        write_device(tree, {"0000:17:00.0", "0x030200", "0x10de", "0x2335", "-1"});
    Host host{.numa_nodes = {{0, {}, {0, 1}}, {8, {}, {2, 3}}},
              .cores = {{{0, 4}}, {{1, 5}}, {{2, 6}}, {{3, 7}}}};
    EXPECT_EQ(with_sysfs_devices(host, tree.root()).devices[0].numa_node, std::nullopt);
    tree.write(gpu + "local_cpus", "00000000,000000cc");
    EXPECT_EQ(with_sysfs_devices(host, tree.root()).devices[0].numa_node, Index{8});
    tree.write(gpu + "local_cpulist", "0-7");  // all CPUs: no information
    EXPECT_EQ(with_sysfs_devices(host, tree.root()).devices[0].numa_node, std::nullopt);
}

}  // namespace tutti
