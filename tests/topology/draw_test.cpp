// SPDX-License-Identifier: Apache-2.0
#include "topology/draw/draw.hpp"

#include <gtest/gtest.h>

#include "base/json_writer.hpp"
#include "tests/topology/example_host.hpp"

namespace tutti {
namespace {

int count(const std::string& text, const std::string& part) {
    int found = 0;
    for (auto at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++found;
    return found;
}

// Four GPUs below two switches, two links between each pair of neighbours; a NIC of two functions.
Host mesh() {
    Host host = example_host();
    host.devices.clear();
    host.pcie_switches = {{"0000:01:00.0", "1000:c030", {}, 0, {16, 16}},
                          {"0000:81:00.0", "1000:c030", {}, 1, {16, 16}}};
    for (int gpu = 0; gpu < 4; ++gpu)
        host.devices.push_back(
            {DeviceKind::gpu, "", "10de:20b0", {}, gpu / 2, gpu / 2, {16, 16}, "A100 <SXM> & co"});
    for (const char* address : {"0000:05:00.0", "0000:05:00.1"})
        host.devices.push_back(
            {DeviceKind::nic, address, "15b3:101b", {}, 0, 0, {16, 16}, "", 0, {{"mlx5_0", 100}}});
    for (int gpu = 0; gpu < 3; ++gpu)
        host.links.push_back({LinkKind::nvlink,
                              {LinkEnd::Kind::device, gpu},
                              {LinkEnd::Kind::device, gpu + 1},
                              2,
                              40,
                              0});
    return host;
}

Json picture_of(const Machine& machine) { return Json::parse(to_picture_json(machine)); }

}  // namespace

TEST(Picture, HasTheBandwidthsOfAllLinks) {
    const Json kind = picture_of(Machine{{mesh()}, {}})["kinds"][0];
    EXPECT_EQ(kind["labels"].size(), 6u);
    EXPECT_EQ(kind["pcie_GBps"][0], 24);
    EXPECT_EQ(kind["switch_GBps"].size(), 2u);
    ASSERT_EQ(kind["links"]["pairs"].size(), 3u);
    EXPECT_EQ(kind["links"]["pairs"][0]["GBps"], 40);
    EXPECT_EQ(kind["links"]["names"], "NVLink");
}

TEST(Picture, HasNvswitchesAsOne) {
    Host host = mesh();
    host.links.clear();
    for (int nvswitch = 0; nvswitch < 2; ++nvswitch) {
        host.devices.push_back({.kind = DeviceKind::nvswitch});
        for (int gpu = 0; gpu < 4; ++gpu)
            host.links.push_back({LinkKind::nvlink,
                                  {LinkEnd::Kind::device, gpu},
                                  {LinkEnd::Kind::device, 6 + nvswitch},
                                  6,
                                  120,
                                  0});
    }
    const Json links = picture_of(Machine{{host}, {}})["kinds"][0]["links"];
    ASSERT_EQ(links["to_switches"].size(), 4u);
    EXPECT_EQ(links["to_switches"][0]["count"], 12);
    EXPECT_EQ(links["to_switches"][0]["GBps"], 240);
    EXPECT_EQ(links["unequal"], "");
}

TEST(Picture, CopesWithAnEmptyHostAndStrangeNames) {
    EXPECT_EQ(picture_of(Machine{{Host{}}, {}})["kinds"].size(), 1u);
    EXPECT_EQ(picture_of(Machine{})["kinds"].size(), 0u);
    picture_of(Machine{{Host{.name = "caf\xe9 <&\">\x01"}}, {}});
}

TEST(Picture, HasHostsThatAreAlikeOnceAndTheirNetwork) {
    Host a = mesh(), b = mesh();
    a.name = "n0", b.name = "n1";
    const Json picture = picture_of(Machine{{a, b}, {{0, 1, 0.12, 50}, {1, 0, 0.12, 60}}});
    ASSERT_EQ(picture["kinds"].size(), 1u);
    EXPECT_EQ(picture["kinds"][0]["hosts"].size(), 2u);
    EXPECT_NE(picture["network"].get<std::string>().find("50 to 60 us"), std::string::npos);
}

TEST(Dot, NamesEachPartAndJoinsThem) {
    const std::string graph = to_dot(Machine{{mesh()}, {}});
    EXPECT_TRUE(graph.starts_with("graph machine {"));
    EXPECT_EQ(count(graph, "h0_device"), 6 + 6 + 2 * 3);  // itself, its PCIe link, NVLinks
    EXPECT_NE(graph.find("h0_switch1 -- h0_device2 [label=\"24\"]"), std::string::npos) << graph;
    EXPECT_NE(graph.find("h0_device2 -- h0_device3 [label=\"40\""), std::string::npos);
    EXPECT_EQ(count(graph, "{"), count(graph, "}"));
}

TEST(Dot, HasNoControlCharactersInNames) {
    Host host = mesh();
    host.name = host.devices[0].model = "a\x1b[31m";
    const std::string graph = to_dot(Machine{{host}, {}});
    EXPECT_EQ(graph.find('\x1b'), std::string::npos);
    EXPECT_NE(graph.find("label=\"a?[31m\""), std::string::npos) << graph;
}

TEST(Dot, WritesWhatLinksOfUnknownSpeedCarry) {
    Host host = mesh();
    for (Link& link : host.links) link.bandwidth_GBps = 0;
    for (Device& device : host.devices) device.compute_capability = 80;
    EXPECT_NE(to_dot(Machine{{host}, {}}).find("h0_device2 -- h0_device3 [label=\"40\""),
              std::string::npos);
}

}  // namespace tutti
