// SPDX-License-Identifier: Apache-2.0
#include "topology/detect/interface_bytes.hpp"

#include <gtest/gtest.h>

#include "fixture_tree.hpp"

namespace tutti {
namespace {

const char* const headings =
    "Inter-|   Receive                                                |  Transmit\n"
    " face |bytes    packets errs drop fifo frame compressed multicast|bytes    packets errs drop "
    "fifo colls carrier compressed\n";

std::string device_table(std::string_view lines) {
    std::string text(headings);
    text.append(lines);
    return text;
}

}  // namespace

// In a container no interface has a device, and the loopback is not a network.
TEST(InterfaceBytes, AreThoseOfAllButTheLoopbackWhereNoneIsADevice) {
    const FixtureTree tree;
    tree.write(
        "proc/net/dev",
        device_table(
            "    lo:    5120      40    0    0    0     0          0         0     5120      "
            "40    0    0    0     0       0          0\n"
            "  eth0:4294967296123   17 0 0 0 0 0 9      456      18    0    0    0     0 0 0"));
    EXPECT_EQ(interface_bytes(tree.root()),
              (std::vector<InterfaceBytes>{{.name = "eth0", .tx = 456, .rx = 4294967296123}}));
}

// Traffic over a bridge or bond is counted once.
TEST(InterfaceBytes, AreThoseOfDevicesWhereThereAreAny) {
    const FixtureTree tree;
    tree.write("proc/net/dev", device_table(" bond0: 30 1 0 0 0 0 0 0 300 1 0 0 0 0 0 0\n"
                                            "  eth0: 10 1 0 0 0 0 0 0 100 1 0 0 0 0 0 0\n"
                                            "  eth1: 20 1 0 0 0 0 0 0 200 1 0 0 0 0 0 0"));
    tree.make_folder("sys/class/net/eth0/device");
    tree.make_folder("sys/class/net/eth1/device");
    tree.make_folder("sys/class/net/bond0");
    EXPECT_EQ(interface_bytes(tree.root()),
              (std::vector<InterfaceBytes>{{"eth0", 100, 10}, {"eth1", 200, 20}}));
}

TEST(InterfaceBytes, OfRdmaPortsAreCountedInWords) {
    const FixtureTree tree;
    tree.write("sys/class/infiniband/mlx5_0/ports/1/counters/port_xmit_data", "1000");
    tree.write("sys/class/infiniband/mlx5_0/ports/1/counters/port_rcv_data", "7");
    EXPECT_EQ(interface_bytes(tree.root()), (std::vector<InterfaceBytes>{{"mlx5_0/1", 4000, 28}}));
}

TEST(InterfaceBytes, OfWhatCannotBeReadAreNone) {
    const FixtureTree tree;
    EXPECT_TRUE(interface_bytes(tree.root()).empty());
    tree.write("proc/net/dev", device_table("  eth0: 10 1 0 0"));
    EXPECT_TRUE(interface_bytes(tree.root()).empty());
}

}  // namespace tutti
