// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "tests/topology/example_host.hpp"
#include "topology/detect/detect.hpp"

namespace tutti {
namespace {

bool mentions(const std::vector<std::string>& notes, const std::string& word) {
    for (const std::string& note : notes)
        if (note.find(word) != std::string::npos) return true;
    return false;
}

// A host without unknown properties.
Host open_host() {
    Host host = example_host();
    host.devices[0].link = {16, 16};
    host.devices[1].numa_node = 0;
    host.devices[1].ports = {{"mlx5_0", 200}};
    return host;
}

}  // namespace

TEST(BlindSpots, AreNoneIfAllIsKnown) {
    EXPECT_EQ(blind_spots(open_host(), HostFacts{}), std::vector<std::string>{});
}

TEST(BlindSpots, NameWhatHidesAndWhatIsHidden) {
    Host host = open_host();
    EXPECT_TRUE(mentions(blind_spots(host, HostFacts{.virtualisation = "kvm"}), "kvm"));
    host.devices[1].ports[0].gigabits = 0;
    EXPECT_TRUE(mentions(blind_spots(host, {}), "speed of some NICs"));
    host.devices[1].names.clear();
    EXPECT_TRUE(mentions(blind_spots(host, HostFacts{.container = "podman"}), "podman"));
    host.devices[0].link = {};
    EXPECT_TRUE(mentions(blind_spots(host, {}), "PCIe speed of some GPUs"));
    host.devices[0].numa_node = std::nullopt;
    EXPECT_TRUE(mentions(blind_spots(host, {}), "NUMA node of some"));
    host.caches.clear();
    EXPECT_TRUE(mentions(blind_spots(host, {}), "caches"));
    host.devices.clear();
    EXPECT_TRUE(mentions(blind_spots(host, {}), "GPUs and NICs"));
}

TEST(BlindSpots, NameVirtualInterfaces) {
    Host host = open_host();
    host.devices[1] = {.kind = DeviceKind::nic,
                       .names = {"eth0"},
                       .model = std::string(virtual_interface),
                       .ports = {{"eth0", 0}}};
    const auto notes = blind_spots(host, {});
    ASSERT_EQ(notes.size(), 1u);
    EXPECT_TRUE(mentions(notes, "NIC of eth0"));
}

TEST(BlindSpots, MissTheLinksOfAmdGpus) {
    Host host = open_host();
    host.devices[0].pci_id = "1002:7408";
    EXPECT_TRUE(blind_spots(host, {}).empty());
    host.devices.push_back(host.devices[0]);
    EXPECT_TRUE(mentions(blind_spots(host, {}), "xGMI"));
    host.links.push_back({LinkKind::xgmi, {LinkEnd::Kind::device, 0}, {LinkEnd::Kind::device, 2}});
    EXPECT_TRUE(blind_spots(host, {}).empty());
}

}  // namespace tutti
