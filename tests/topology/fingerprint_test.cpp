// SPDX-License-Identifier: Apache-2.0
#include "topology/machine/fingerprint.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>

#include "tests/topology/example_host.hpp"

namespace tutti {
namespace {

std::string after(const std::function<void(Host&)>& change) {
    Host host = example_host();
    change(host);
    return fingerprint(host);
}

LinkEnd gpu_end(int index) { return {LinkEnd::Kind::device, index}; }

// Eight GPUs with NVLinks between these ends.
Host linked(const std::vector<std::pair<int, int>>& links) {
    Host host{.numa_nodes = {{0, {}, {0}}}, .cores = {{{0}}}};
    for (int gpu = 0; gpu < 8; ++gpu)
        host.devices.push_back({DeviceKind::gpu, "", "10de:1db1", {}, 0});
    for (const auto& [a, b] : links)
        host.links.push_back({LinkKind::nvlink, gpu_end(a), gpu_end(b), 1, 20, 0});
    return host;
}

using Links = std::vector<std::pair<int, int>>;

// Two switches, the second below the first; a GPU and a NIC below each.
Host switched() {
    Host host{
        .numa_nodes = {{0, {}, {0}}},
        .cores = {{{0}}},
        .pcie_switches = {{"a", "1000:c030", {}, 0, {16, 16}}, {"b", "1000:c030", 0, 0, {16, 16}}}};
    for (const int above : {0, 1}) {
        host.devices.push_back({DeviceKind::gpu, "", "10de:20b0", {}, 0, above, {16, 16}});
        Device nic{DeviceKind::nic, "", "15b3:101b", {"mlx5_0"}, 0, above, {16, 16}};
        nic.ports = {{"mlx5_0", 200}};
        host.devices.push_back(nic);
    }
    return host;
}

// Reverses all numbering.
Host renumbered(const Host& host) {
    Host turned = host;
    const auto other = [](int index, std::size_t size) {
        return static_cast<int>(size) - 1 - index;
    };
    std::ranges::reverse(turned.devices);
    std::ranges::reverse(turned.pcie_switches);
    std::ranges::reverse(turned.links);
    for (Link& link : turned.links) {
        link.a.index = other(link.a.index, turned.devices.size());
        link.b.index = other(link.b.index, turned.devices.size());
        std::swap(link.a, link.b);
    }
    for (Device& device : turned.devices)
        if (device.above) device.above = other(*device.above, turned.pcie_switches.size());
    for (PcieSwitch& part : turned.pcie_switches)
        if (part.above) part.above = other(*part.above, turned.pcie_switches.size());
    return turned;
}

}  // namespace

TEST(Fingerprint, ChangesWithTheStructure) {
    const std::string before = fingerprint(example_host());
    EXPECT_EQ(before.size(), 64u);
    EXPECT_NE(before, after([](Host& host) { host.caches[0].size.count *= 2; }));
    EXPECT_NE(before, after([](Host& host) { host.caches.pop_back(); }));
    EXPECT_NE(before, after([](Host& host) { host.cores[3].threads.pop_back(); }));
    EXPECT_NE(before, after([](Host& host) { host.numa_nodes[1].cores = {3}; }));
    EXPECT_NE(before, after([](Host& host) { host.packages.pop_back(); }));
    EXPECT_NE(before, after([](Host& host) { host.devices[0].numa_node = 0; }));
}

TEST(Fingerprint, IgnoresNamesAddressesMemoryAndOrder) {
    const std::string before = fingerprint(example_host());
    EXPECT_EQ(before, after([](Host& host) { host.name = "other"; }));
    EXPECT_EQ(before, after([](Host& host) { host.devices[1].names = {"ib7"}; }));
    EXPECT_EQ(before, after([](Host& host) { host.devices[1].pci_address = "0000:01:00.0"; }));
    EXPECT_EQ(before, after([](Host& host) { host.numa_nodes[0].memory.count -= 4096; }));
    EXPECT_EQ(before, after([](Host& host) { host.not_seen = {"something"}; }));
    EXPECT_EQ(before, after([](Host& host) { std::ranges::reverse(host.caches); }));
}

TEST(Fingerprint, CoversThePcieTreeAndItsSpeeds) {
    const auto after_change = [](const std::function<void(Host&)>& change) {
        Host host = switched();
        change(host);
        return fingerprint(host);
    };
    const std::string before = fingerprint(switched());
    EXPECT_NE(before, after_change([](Host& host) { host.devices[0].link.lanes = 8; }));
    EXPECT_NE(before, after_change([](Host& host) { host.devices[0].link.gigatransfers = 8; }));
    EXPECT_NE(before, after_change([](Host& host) { host.pcie_switches[1].link.lanes = 8; }));
    EXPECT_NE(before, after_change([](Host& host) { host.pcie_switches[1].above.reset(); }));
    EXPECT_NE(before, after_change([](Host& host) { host.devices[0].above = 1; }));
    EXPECT_NE(before, after_change([](Host& host) { host.devices[1].ports[0].gigabits = 100; }));
    // GPUs below one of two equal switches and NICs below the other, in the same numbers as before.
    EXPECT_NE(before, after_change([](Host& host) {
                  host.devices[2].above = 0;
                  host.devices[1].above = 1;
              }));
}

TEST(Fingerprint, DistinguishesMeshesOfLinks) {
    const Host one_ring = linked({{0, 1}, {1, 2}, {2, 3}, {3, 4}, {4, 5}, {5, 6}, {6, 7}, {7, 0}});
    const Host two_rings = linked({{0, 1}, {1, 2}, {2, 3}, {3, 0}, {4, 5}, {5, 6}, {6, 7}, {7, 4}});
    EXPECT_NE(fingerprint(one_ring), fingerprint(two_rings));
    Host wider = one_ring;
    wider.links[3].count = 2;
    EXPECT_NE(fingerprint(one_ring), fingerprint(wider));
    wider.links = one_ring.links;
    wider.links[3].bandwidth_GBps = 25;
    EXPECT_NE(fingerprint(one_ring), fingerprint(wider));
}

TEST(Fingerprint, IgnoresHowPartsAreNumbered) {
    EXPECT_EQ(fingerprint(switched()), fingerprint(renumbered(switched())));
    const Host chain = linked({{0, 1}, {1, 2}, {2, 3}, {0, 4}, {4, 5}});
    EXPECT_EQ(fingerprint(chain), fingerprint(renumbered(chain)));
    const Host elsewhere = linked({{7, 1}, {1, 4}, {4, 3}, {7, 0}, {0, 5}});  // the same shape
    EXPECT_EQ(fingerprint(chain), fingerprint(elsewhere));
}

TEST(Fingerprint, IgnoresInterfacesOfSoftwareAndTransports) {
    Host host = switched();
    const std::string before = fingerprint(host);
    Device interface { .kind = DeviceKind::nic, .names = {"eth0"}, .numa_node = 0 };
    interface.model = virtual_interface;
    host.devices.push_back(interface);
    host.transports = {"tcp/eth0"};
    EXPECT_EQ(before, fingerprint(host));
    host.devices[1].ports.push_back({"eth1", 0});  // a container may hide its speed
    EXPECT_EQ(before, fingerprint(host));
}

TEST(Fingerprint, OfAMachineIsThatOfItsHostsInAnyOrder) {
    const Host a = example_host(), b = switched();
    EXPECT_EQ(fingerprint(Machine{{a}, {}}), fingerprint(a));
    EXPECT_EQ(fingerprint(Machine{{a, b}, {}}), fingerprint(Machine{{b, a}, {}}));
    EXPECT_NE(fingerprint(Machine{{a, b}, {}}), fingerprint(Machine{{a, a}, {}}));
    EXPECT_NE(fingerprint(Machine{{a, a}, {}}), fingerprint(Machine{{a, a, a}, {}}));
    EXPECT_EQ(fingerprint(Machine{{a, b}, {}}), fingerprint(Machine{{a, b}, {{0, 1, 10, 2}}}));
}

}  // namespace tutti
