// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <nlohmann/json.hpp>

#include "tests/golden/golden.hpp"
#include "tests/topology/example_host.hpp"
#include "tests/topology/fixture_tree.hpp"
#include "topology/draw/draw.hpp"

namespace tutti {

TEST(PrintTree, PutsWhatSharesCoresOnOneLineAndTheRestInside) {
    expect_golden("topology/tree_of_packages.txt", print_tree(example_host()));
}

TEST(PrintTree, ShowsNoNameThatATerminalWouldObey) {
    Host host = example_host();
    host.name = "a\x1b[31m\nb\xc2\x9b";
    host.packages[0].model = host.devices[0].model = host.devices[1].names[0] = "\x1b]0;t\x07";
    host.transports = host.not_seen = {"\r\x7f"};
    const std::string page = print_tree(Machine{{host}, {}});
    EXPECT_TRUE(page.starts_with("a?[31m?b?: ")) << page;
    for (const char c : page) EXPECT_TRUE(c == '\n' || (c != 0x7f && (c < 0 || c >= ' '))) << page;
    host.name = "caf\xc3\xa9";
    EXPECT_TRUE(print_tree(host).starts_with("caf\xc3\xa9: "));
}

TEST(PrintTree, AddsUpMemoryWithoutOverflow) {
    constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max();
    const Host host{.numa_nodes = {{0, Bytes{most}, {}}, {1, Bytes{most}, {}}}};
    EXPECT_NE(print_tree(host).find("8388608 TiB"), std::string::npos) << print_tree(host);
}

TEST(PrintTree, GivesPartsWithoutCoresLinesOfTheirOwn) {
    const Host host{.packages = {{"Model A", {}}, {"Model B", {}}},
                    .caches = {{3, CacheKind::unified, Bytes{1 << 20}, {}}}};
    const std::string page = print_tree(host);
    EXPECT_EQ(std::ranges::count(page, '\n'), 4) << page;
    EXPECT_LT(page.find("package 0 Model A\n"), page.find("package 1 Model B\n")) << page;
}

TEST(PrintTree, NamesDevicesByAPciIdDatabase) {
    const FixtureTree tree;
    tree.write("pci.ids",
               "# 10de  comment\n10de  NVIDIA\n\t2330  H100 [SXM5]\n\t\t10de 0001  Board\n"
               "15b3  Mellanox\n\t2330  Other\n\t1021  ConnectX-7\nC 02  Network\n\t00  Ethernet");
    Machine machine{.hosts = {{.devices = {{.kind = DeviceKind::nic, .pci_id = "15b3:1021"},
                                           {.pci_id = "10de:2330"},
                                           {.pci_id = "10de:2330", .model = "mine"},
                                           {.pci_id = "10de:0001"},
                                           {}}}},
                    .network = {}};
    const Machine before = machine;
    name_products(machine, tree.root() / "absent");
    EXPECT_EQ(machine, before);
    name_products(machine, tree.root() / "pci.ids");
    std::string models;
    for (const Device& device : machine.hosts[0].devices) models += device.model + ",";
    EXPECT_EQ(models, "ConnectX-7,H100 [SXM5],mine,,,");
}

TEST(PrintTree, FoldsRowsOfCoresThatAreAlike) {
    Host host;
    for (int core = 0; core < 12; ++core) {
        host.cores.push_back({{core, core + 12}});
        host.caches.push_back({2, CacheKind::unified, Bytes{(core < 8 ? 2 : 1) << 20}, {core}});
    }
    expect_golden("topology/tree_of_equal_cores.txt", print_tree(host));
}

TEST(PrintTree, HangsDevicesOnSwitchesAndSwitchesOnSwitches) {
    Host host{.pcie_switches = {{"0000:01:00.0", "1000:c030", {}, {}, {16, 16}},
                                {"0000:03:00.0", "1000:c030", 0, {}, {16, 16}}}};
    host.devices = {{DeviceKind::gpu, "0000:05:00.0", "10de:20b0", {}, {}, 1, {16, 16}, "A100"},
                    {DeviceKind::nic,
                     "0000:06:00.0",
                     "15b3:101b",
                     {"ib0", "mlx5_0"},
                     {},
                     0,
                     {16, 8},
                     "",
                     0,
                     {{"mlx5_0", 200}}}};
    expect_golden("topology/tree_of_switches.txt", print_tree(host));
}

TEST(PrintTree, ShowsLinksBetweenGpusAsAMatrix) {
    Host host;
    for (int gpu = 0; gpu < 3; ++gpu) host.devices.push_back({.kind = DeviceKind::gpu});
    const auto end = [](int gpu) { return LinkEnd{LinkEnd::Kind::device, gpu}; };
    host.links = {{LinkKind::nvlink, end(1), end(0), 2, 40, 0},
                  {LinkKind::nvlink, end(1), end(2), 1, 20, 0}};
    host.no_peer_access = {{0, 2}};
    const std::string tree = print_tree(host);
    expect_golden("topology/nvlink_matrix.txt", tree.substr(tree.find("NVLink")));
}

TEST(PrintTree, ShowsNvswitchesInALine) {
    Host host;
    for (int gpu = 0; gpu < 4; ++gpu) host.devices.push_back({.kind = DeviceKind::gpu});
    for (int nvswitch = 0; nvswitch < 2; ++nvswitch)
        host.devices.push_back({.kind = DeviceKind::nvswitch});
    for (int gpu = 0; gpu < 4; ++gpu)
        for (int nvswitch = 4; nvswitch < 6; ++nvswitch)
            host.links.push_back({LinkKind::nvlink,
                                  {LinkEnd::Kind::device, gpu},
                                  {LinkEnd::Kind::device, nvswitch},
                                  6,
                                  120,
                                  0});
    EXPECT_TRUE(print_tree(host).ends_with(
        "\nGPU0-GPU3 12 links to 2 NVSwitches, 240 GB/s each way, each of them\n"))
        << print_tree(host);
}

TEST(PrintTree, DrawsHostsThatAreAlikeOnce) {
    Host a = example_host(), b = example_host(), c = example_host();
    a.name = "n0", b.name = "n1", c.name = "fat";
    c.cores[0].threads.pop_back();
    const std::string page = print_tree(Machine{{a, c, b}, {{0, 2, 0.125, 50}}});
    EXPECT_TRUE(page.starts_with("2 hosts like this: n0, n1\nn0: ")) << page;
    EXPECT_EQ(page.find("\nn1: "), std::string::npos);
    EXPECT_NE(page.find("\nfat: 2 packages"), std::string::npos);
    EXPECT_NE(page.find("\nnetwork n0 to n1: 0.125 GB/s, 50 us\n3 hosts, fingerprint "),
              std::string::npos);
}

TEST(PrintTree, ShowsMemoryThatIsNearNoCoreLast) {
    Host host = example_host();
    host.numa_nodes.push_back({255, Bytes{15LL << 30}, {}});
    const std::string tree = print_tree(host);
    EXPECT_GT(tree.find("NUMA node 255 15 GiB\n"), tree.find("core 3"));
}

// Files of clouds and matrices of containers do not say which cores are near a NUMA node.
TEST(PrintTree, HangsDevicesOnTheirNumaNodeWithoutCores) {
    Host host;
    host.numa_nodes = {{.os_index = 0}, {.os_index = 1}};
    host.devices = {{.kind = DeviceKind::gpu, .numa_node = 1},
                    {.kind = DeviceKind::gpu, .numa_node = 0}};
    host.pcie_switches = {{.numa_node = 1}};
    const std::string tree = print_tree(host);
    const std::size_t second = tree.find("NUMA node 1");
    EXPECT_LT(tree.find("GPU1"), second) << tree;
    EXPECT_GT(tree.find("GPU0"), second) << tree;
    EXPECT_GT(tree.find("PCIe switch"), second) << tree;
}

TEST(PrintTree, CopesWithAnEmptyHost) { EXPECT_EQ(print_tree(Host{}), "host\n"); }

TEST(PrintTree, EndsWithWhatWasNotSeen) {
    Host host = example_host();
    host.not_seen = {"the moon"};
    EXPECT_TRUE(print_tree(host).ends_with("not seen: the moon\n"));
}

TEST(MachineJson, KeepsEachPart) {
    const auto machine = nlohmann::json::parse(to_json({.hosts = {example_host()}, .network = {}}));
    const auto json = machine["hosts"][0];
    EXPECT_EQ(json["name"], "example");
    EXPECT_EQ(json["cores"][1]["threads"], (std::vector<int>{1, 5}));
    EXPECT_EQ(json["caches"].size(), 6u);
    EXPECT_EQ(json["caches"][2]["kind"], "data");
    EXPECT_EQ(json["numa_nodes"][1]["memory_bytes"], 6LL << 30);
    EXPECT_EQ(json["devices"][0]["numa_node"], 1);
    EXPECT_TRUE(json["devices"][1]["numa_node"].is_null());
}

}  // namespace tutti
