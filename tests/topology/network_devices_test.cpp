// SPDX-License-Identifier: Apache-2.0
#include "topology/detect/network_devices.hpp"

#include <gtest/gtest.h>

#include "tests/topology/fixture_tree.hpp"

namespace tutti {
namespace {

const NetworkDevice near_card{"eth0", "10.0.0.0/24", 0, 100'000};
const NetworkDevice far_card{"eth1", "10.0.0.0/24", 1, 100'000};

NetworkDevice changed(NetworkDevice device, auto NetworkDevice::*field, auto value) {
    device.*field = value;
    return device;
}

TEST(NearDevices, AreThoseOfTheRanksOwnNode) {
    EXPECT_EQ(near_devices({near_card, far_card}, 0), "eth0");
    EXPECT_EQ(near_devices({near_card, far_card}, 1), "eth1");
    const auto third = changed(near_card, &NetworkDevice::name, "eth2");
    EXPECT_EQ(near_devices({near_card, far_card, third}, 0), "eth0,eth2");
}

TEST(NearDevices, AreUcxsChoiceWhereThereIsNone) {
    EXPECT_EQ(near_devices({}, 0), "");
    EXPECT_EQ(near_devices({near_card}, 0), "");
    EXPECT_EQ(near_devices({far_card}, 0), "") << "far, but the only one";
    EXPECT_EQ(near_devices({near_card, far_card}, std::nullopt), "") << "rank may run anywhere";
    EXPECT_EQ(near_devices({near_card, far_card}, 2), "") << "none hangs on that node";
}

// A rank that leaves out the only device to some peers, or the fast one, is worse off.
TEST(NearDevices, NeverCostANetworkOrSpeed) {
    EXPECT_EQ(
        near_devices({near_card, changed(far_card, &NetworkDevice::network, "10.1.0.0/24")}, 0),
        "");
    EXPECT_EQ(near_devices({changed(near_card, &NetworkDevice::mbit_per_s, 1000), far_card}, 0),
              "");
    EXPECT_EQ(near_devices({near_card, changed(far_card, &NetworkDevice::node, std::nullopt)}, 0),
              "");
}

// A bond's cards have no address of their own; naming another card would cut off its network.
TEST(NearDevices, NeverCostANetworkThatAVirtualDeviceLeadsTo) {
    NetworkDevice bond{.name = "bond0", .network = "10.1.0.0/24", .is_virtual = true};
    EXPECT_EQ(near_devices({bond, near_card, far_card}, 0), "");
    bond.network = near_card.network;
    EXPECT_EQ(near_devices({bond, near_card, far_card}, 0), "eth0");
}

using DeviceOfNetwork = std::map<std::string, std::string>;

TEST(EqualDevices, AreOneOfEachNetworkAtTheHighestSpeed) {
    const auto other = changed(far_card, &NetworkDevice::network, "10.1.0.0/24");
    EXPECT_EQ(equal_devices({near_card, other}),
              (DeviceOfNetwork{{"10.0.0.0/24", "eth0"}, {"10.1.0.0/24", "eth1"}}));
    EXPECT_EQ(equal_devices({near_card, far_card}), (DeviceOfNetwork{{"10.0.0.0/24", "eth0"}}));
    EXPECT_EQ(equal_devices({near_card, changed(other, &NetworkDevice::mbit_per_s, 1000)}),
              (DeviceOfNetwork{{"10.0.0.0/24", "eth0"}}));
    EXPECT_EQ(equal_devices({}), DeviceOfNetwork{});
}

// A bridge of containers leads nowhere, and addresses that a device has given itself are the same
// on all hosts.
TEST(EqualDevices, LeadToOtherHosts) {
    NetworkDevice vlan{"eth0.7", "10.1.0.0/24", {}, 100'000, true};
    NetworkDevice in_container{"net1", "10.2.0.0/24", {}, 100'000, true};
    NetworkDevice bridge{"docker0", "172.17.0.0/16", {}, 100'000, true, true};
    EXPECT_EQ(equal_devices({vlan, in_container, bridge}),
              (DeviceOfNetwork{{"10.1.0.0/24", "eth0.7"}, {"10.2.0.0/24", "net1"}}));
    EXPECT_EQ(
        equal_devices({near_card, changed(far_card, &NetworkDevice::network, "169.254.0.0/16")}),
        (DeviceOfNetwork{{"10.0.0.0/24", "eth0"}}));
}

// A bond's cards have no address of their own, but those of slow management networks have.
TEST(EqualDevices, AreNoneIfAVirtualDeviceMayBeBetter) {
    const NetworkDevice other{"eth1", "10.1.0.0/24", 0, 100'000};
    const DeviceOfNetwork both{{"10.0.0.0/24", "eth0"}, {"10.1.0.0/24", "eth1"}};
    const NetworkDevice bond{"bond0", "10.2.0.0/24", {}, 100'000, true};
    const auto next_to = [&](const NetworkDevice& device) {
        return equal_devices({device, near_card, other});
    };
    EXPECT_EQ(next_to(bond), DeviceOfNetwork{});
    EXPECT_EQ(next_to(changed(bond, &NetworkDevice::mbit_per_s, 200'000)), DeviceOfNetwork{});
    EXPECT_EQ(next_to(changed(bond, &NetworkDevice::mbit_per_s, 0)), DeviceOfNetwork{});
    EXPECT_EQ(next_to(changed(bond, &NetworkDevice::mbit_per_s, 1000)), both);
    EXPECT_EQ(next_to(changed(bond, &NetworkDevice::network, "10.1.0.0/24")), both);
    EXPECT_EQ(next_to(changed(bond, &NetworkDevice::network, "169.254.0.0/16")), both);
    EXPECT_EQ(next_to(changed(bond, &NetworkDevice::is_bridge, true)), both);
}

class NetworkInterfaces : public testing::Test {
protected:
    void add(const std::string& name, const std::string& state, const std::string& node,
             const std::string& speed) const {
        const std::string folder = "sys/class/net/" + name + "/";
        tree.write(folder + "operstate", state);
        tree.write(folder + "speed", speed);
        if (!node.empty()) tree.write(folder + "device/numa_node", node);
    }
    std::vector<std::string> seen() const {
        const NetworkOfInterface networks{{"eth0", "a"}, {"eth1", "a"}, {"down0", "a"},
                                          {"lo", "l"},   {"odd0", "a"}, {"bond0", "b"}};
        std::vector<std::string> texts;
        for (const NetworkDevice& device : network_devices(tree.root(), networks))
            texts.push_back(device.name + " " + device.network + " " +
                            std::to_string(device.node.value_or(-1)) + " " +
                            std::to_string(device.mbit_per_s) +
                            (device.is_virtual ? " virtual" : ""));
        return texts;
    }

    FixtureTree tree;
};

TEST_F(NetworkInterfaces, ThatAreUpAndHaveAnAddressAreSeen) {
    add("eth0", "up", "0", "25000");
    add("eth1", "up", "1", "25000");
    add("odd0", "up", "-1", "-1");  // a virtual machine's: node and speed are unknown
    add("down0", "down", "0", "25000");
    add("noaddress0", "up", "0", "25000");
    add("lo", "up", "", "25000");
    add("bond0", "up", "", "50000");
    EXPECT_EQ(seen(), (std::vector<std::string>{"bond0 b -1 50000 virtual", "eth0 a 0 25000",
                                                "eth1 a 1 25000", "odd0 a -1 0"}));
}

TEST_F(NetworkInterfaces, AreLeftToUcxWhereThereIsInfiniBand) {
    add("eth0", "up", "0", "25000");
    tree.make_folder("sys/class/infiniband/mlx5_0");
    EXPECT_EQ(seen(), std::vector<std::string>{});
}

TEST_F(NetworkInterfaces, OfThisMachineHaveNetworksInCidrNotation) {
    for (const auto& [name, network] : networks_of_interfaces())
        EXPECT_TRUE(name != "lo" || network == "127.0.0.0/8") << network;
}

}  // namespace
}  // namespace tutti
