// SPDX-License-Identifier: Apache-2.0
// A GPU that has lost its NVLinks is seen in the tree and in the picture.
#include <gtest/gtest.h>

#include "base/json_writer.hpp"
#include "tests/topology/machines.hpp"
#include "topology/draw/draw.hpp"

namespace tutti {
namespace {

using machines::device;

void join(Host& host, int a, int b, int count) {
    host.links.push_back({.kind = LinkKind::nvlink,
                          .a = device(a),
                          .b = device(b),
                          .count = count,
                          .bandwidth_GBps = count * 20.6});
}

// Returns a host with an NVSwitch and one GPU, followed by its NIC, for each number of links.
Host behind_nvswitch(const std::vector<int>& links) {
    Host host{.numa_nodes = {{}}};
    for (std::size_t gpu = 0; gpu < links.size(); ++gpu)
        for (const DeviceKind kind : {DeviceKind::gpu, DeviceKind::nic})
            host.devices.push_back({.kind = kind, .numa_node = 0});
    host.devices.push_back({.kind = DeviceKind::nvswitch});
    for (int gpu = 0; gpu < static_cast<int>(links.size()); ++gpu)
        if (links[static_cast<std::size_t>(gpu)] > 0)
            join(host, 2 * gpu, static_cast<int>(2 * links.size()),
                 links[static_cast<std::size_t>(gpu)]);
    return host;
}

Json links_of(const Host& host) {
    return Json::parse(to_picture_json(Machine{{host}, {}}))["kinds"][0]["links"];
}

bool has(const std::string& page, const std::string& part) {
    return page.find(part) != std::string::npos;
}

TEST(LostLinks, AreNoPartOfASpanInTheTree) {
    EXPECT_TRUE(has(print_tree(behind_nvswitch({18, 18, 18, 18, 18, 18, 18, 18})),
                    "\nGPU0-GPU7 18 links to 1 NVSwitch, 370.8 GB/s each "));
    const std::string tree = print_tree(behind_nvswitch({18, 18, 0, 18, 18, 18, 18, 18}));
    EXPECT_TRUE(has(tree, "\nGPU0, GPU1, GPU3-GPU7 18 links to 1 NVSwitch, 370.8 GB/s ")) << tree;
    EXPECT_TRUE(has(tree, "\nGPU2 no NVLink to other ")) << tree;
}

TEST(LostLinks, OfSomeAreALineOfTheirOwnInTheTree) {
    const std::string tree = print_tree(behind_nvswitch({18, 18, 16, 18}));
    EXPECT_TRUE(has(tree, "\nGPU0, GPU1, GPU3 18 links to 1 NVSwitch, 370.8 GB/s ")) << tree;
    EXPECT_TRUE(has(tree, "\nGPU2 16 links to 1 NVSwitch, 329.6 GB/s ")) << tree;
}

TEST(LostLinks, AreMarkedInThePicture) {
    EXPECT_EQ(links_of(behind_nvswitch({18, 18, 18, 18}))["unequal"], "");
    const Json none = links_of(behind_nvswitch({18, 18, 0, 18}));
    EXPECT_EQ(none["without"], Json::array({4}));
    EXPECT_EQ(none["unequal"], "18 links from GPU0, GPU1, GPU3; none from GPU2");
    EXPECT_EQ(links_of(behind_nvswitch({18, 16, 18, 18}))["unequal"],
              "18 links from GPU0, GPU2, GPU3; 16 links from GPU1");
}

// GPU2 of four that are wired in pairs.
TEST(LostLinks, AreADottedRowOfTheMatrix) {
    Host host{.numa_nodes = {{}}};
    for (int gpu = 0; gpu < 4; ++gpu)
        host.devices.push_back({.kind = DeviceKind::gpu, .numa_node = 0});
    for (const auto& [a, b] : {std::pair(0, 1), {0, 3}, {1, 3}}) join(host, a, b, 1);
    const std::string tree = print_tree(host);
    EXPECT_TRUE(has(tree, "\n  GPU2     .     .     -     .\n")) << tree;
    EXPECT_TRUE(has(tree, "\nGPU2 no NVLink to other ")) << tree;
    EXPECT_EQ(links_of(host)["without"], Json::array({2}));
}

TEST(LostLinks, AreNoneWhereNoGpuHasLinks) {
    Host host;
    for (int gpu = 0; gpu < 4; ++gpu) host.devices.push_back({.kind = DeviceKind::gpu});
    EXPECT_FALSE(has(print_tree(host), "NVLink"));
    EXPECT_TRUE(links_of(host)["without"].empty());
}

}  // namespace
}  // namespace tutti
