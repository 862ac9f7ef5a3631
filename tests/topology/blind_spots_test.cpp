// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "tests/topology/example_host.hpp"
#include "topology/detect.hpp"

namespace tutti {
namespace {

bool mentions(const std::vector<std::string>& notes, const std::string& word) {
    for (const std::string& note : notes)
        if (note.find(word) != std::string::npos) return true;
    return false;
}

}  // namespace

TEST(BlindSpots, AreNoneWhereAllIsSeen) {
    Host host = example_host();
    host.devices[1].numa_node = 0;
    EXPECT_TRUE(blind_spots(host, HostFacts{}).empty());
}

TEST(BlindSpots, NameWhatHidesAndWhatIsHidden) {
    Host host = example_host();
    EXPECT_TRUE(mentions(blind_spots(host, HostFacts{.virtualisation = "kvm"}), "kvm"));
    EXPECT_TRUE(mentions(blind_spots(host, {}), "NUMA node of some devices"));
    host.devices[1].names.clear();
    EXPECT_TRUE(mentions(blind_spots(host, HostFacts{.container = "podman"}), "podman"));
    host.devices.push_back(host.devices[0]);
    EXPECT_TRUE(mentions(blind_spots(host, {}), "NVLink"));
    host.caches.clear();
    EXPECT_TRUE(mentions(blind_spots(host, {}), "caches"));
}

}  // namespace tutti
