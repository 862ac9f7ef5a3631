// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "tests/topology/fixture_tree.hpp"
#include "topology/detect/sysfs_devices.hpp"

namespace tutti {
namespace {

using Ports = std::vector<Port>;

// Writes a virtual interface as the kernel shows it.
void write_virtual(const FixtureTree& tree, const std::string& name, const std::string& type = "1",
                   const std::string& flags = "0x1003") {
    const std::string folder = "sys/devices/virtual/net/" + name;
    tree.write(folder + "/type", type);
    tree.write(folder + "/flags", flags);
    tree.write(folder + "/speed", "10000");
    tree.link("sys/class/net/" + name, "../../devices/virtual/net/" + name);
}

std::vector<std::string> names_of(const std::vector<Device>& nics) {
    std::vector<std::string> names;
    for (const Device& nic : nics) names.push_back(nic.names.at(0));
    return names;
}

using Names = std::vector<std::string>;

}  // namespace

TEST(Ports, OfAnEthernetCardHaveTheSpeedOfTheirInterface) {
    const FixtureTree tree;
    tree.write("net/eth0/speed", "25000");
    EXPECT_EQ(read_ports(tree.root()), (Ports{{"eth0", 25}}));
    tree.write("net/eth0/speed", "-1");
    EXPECT_EQ(read_ports(tree.root()), (Ports{{"eth0", 0}}));
}

TEST(Ports, JoinAnInterfaceAndItsRdmaDevice) {
    const FixtureTree tree;
    tree.write("net/ib0/speed", "200000");
    tree.write("infiniband/mlx5_0/ports/1/rate", "200 Gb/sec (4X HDR)");
    tree.write("infiniband/mlx5_0/ports/1/state", "4: ACTIVE");
    EXPECT_EQ(read_ports(tree.root()), (Ports{{"mlx5_0", 200}}));
    EXPECT_EQ(interface_names(tree.root()), (Names{"ib0", "mlx5_0"}));
}

TEST(Ports, OfOneDeviceAreDistinguishedByNumber) {
    const FixtureTree tree;
    tree.write("net/eth4/dev_port", "0");
    tree.write("net/eth5/dev_port", "1");
    tree.write("net/eth5/speed", "10000");
    tree.write("infiniband/mlx4_0/ports/1/rate", "40 Gb/sec (4X QDR)");
    tree.write("infiniband/mlx4_0/ports/2/rate", "10 Gb/sec (4X SDR)");
    tree.write("infiniband/mlx4_0/ports/2/state", "1: DOWN");
    EXPECT_EQ(read_ports(tree.root()), (Ports{{"mlx4_0:1", 40}, {"mlx4_0:2", 10}}));
}

TEST(Ports, FollowTheNameThatThePortReports) {
    const FixtureTree tree;
    tree.write("net/eth4/speed", "100000");  // both count as the first port
    tree.write("net/eth5/speed", "50000");
    tree.write("infiniband/mlx5_0/ports/1/rate", "50 Gb/sec (2X EDR)");
    tree.write("infiniband/mlx5_0/ports/1/gid_attrs/ndevs/0", "eth5");
    EXPECT_EQ(read_ports(tree.root()), (Ports{{"mlx5_0", 50}, {"eth4", 100}}));
}

TEST(VirtualNics, StandForANicThatIsNotShown) {
    const FixtureTree tree;
    write_virtual(tree, "eth0");
    write_virtual(tree, "lo", "772");
    write_virtual(tree, "down0", "1", "0x1002");
    const auto nics = read_virtual_nics(tree.root(), /*has_nic=*/false);
    ASSERT_EQ(names_of(nics), Names{"eth0"});
    EXPECT_EQ(nics[0].model, virtual_interface);
    EXPECT_EQ(nics[0].pci_address, "");
    EXPECT_EQ(nics[0].ports, (Ports{{"eth0", 0}}));  // not the kernel's 10 Gb/s for any
}

TEST(VirtualNics, AreNoPartsOfBridgesAndBonds) {
    const FixtureTree tree;
    write_virtual(tree, "docker0");
    tree.make_folder("sys/devices/virtual/net/docker0/bridge");
    write_virtual(tree, "veth1");
    tree.link("sys/devices/virtual/net/veth1/master", "../docker0");
    write_virtual(tree, "bond0");
    tree.make_folder("sys/devices/virtual/net/bond0/bonding");
    write_virtual(tree, "vlan7");
    tree.link("sys/devices/virtual/net/vlan7/lower_bond0", "../bond0");
    write_virtual(tree, "tap0");
    tree.write("sys/devices/virtual/net/tap0/tun_flags", "0x1002");
    EXPECT_EQ(names_of(read_virtual_nics(tree.root(), false)), Names{});
}

TEST(VirtualNics, OfAHostWithARealNicAreListedOnlyIfTheyHaveTheDefaultRoute) {
    const FixtureTree tree;
    write_virtual(tree, "cali1");
    write_virtual(tree, "eth9");
    EXPECT_EQ(names_of(read_virtual_nics(tree.root(), true)), Names{});
    tree.write("proc/net/route",
               "Iface Destination Gateway\ncali1 000200C0 0\neth9 00000000 010200C0");
    EXPECT_EQ(names_of(read_virtual_nics(tree.root(), true)), Names{"eth9"});
}

TEST(VirtualNics, AreThoseOfThisProcess) {
    const FixtureTree tree;
    write_virtual(tree, "veth1");
    tree.write("proc/net/dev", "Inter-|\n face |\n    lo: 0 0\n  eth0: 1 2");
    EXPECT_EQ(names_of(read_virtual_nics(tree.root(), false)), Names{});
    EXPECT_EQ(interfaces_not_in_sysfs(tree.root()), Names{"eth0"});
}

}  // namespace tutti
