// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/topology/example_host.hpp"

namespace tutti {

TEST(PrintTree, PutsWhatSharesCoresOnOneLineAndTheRestInside) {
    EXPECT_EQ(print_tree(example_host()),
              "example: 2 packages, 2 NUMA nodes, 4 cores, 8 threads, 10 GiB\n"
              "├─ package 0 Model A  NUMA node 0 4 GiB  L3 32 MiB\n"
              "│  ├─ core 0  cpu 0,4  L1d 48 KiB\n"
              "│  └─ core 1  cpu 1,5  L1d 48 KiB\n"
              "├─ package 1 Model A  NUMA node 1 6 GiB  L3 32 MiB\n"
              "│  ├─ core 2  cpu 2,6  L1d 48 KiB\n"
              "│  ├─ core 3  cpu 3,7  L1d 48 KiB\n"
              "│  └─ GPU 0000:81:00.0  10de:2335\n"
              "└─ NIC 0000:a1:00.0  15b3:1021  ib0 mlx5_0\n");
}

TEST(PrintTree, ShowsMemoryThatIsNearNoCoreLast) {
    Host host = example_host();
    host.numa_nodes.push_back({255, Bytes{15LL << 30}, {}});
    const std::string tree = print_tree(host);
    EXPECT_GT(tree.find("NUMA node 255 15 GiB\n"), tree.find("core 3"));
}

TEST(PrintTree, CopesWithAnEmptyHost) {
    EXPECT_EQ(print_tree(Host{}), "host: 0 packages, 0 NUMA nodes, 0 cores, 0 threads, 0 B\n");
}

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

TEST(MachineJson, SurvivesNamesThatAreNoUtf8) {
    EXPECT_TRUE(nlohmann::json::accept(to_json({.hosts = {{.name = "caf\xe9"}}, .network = {}})));
}

}  // namespace tutti
