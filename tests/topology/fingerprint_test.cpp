// SPDX-License-Identifier: Apache-2.0
#include "topology/fingerprint.hpp"

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

}  // namespace tutti
