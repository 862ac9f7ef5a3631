// SPDX-License-Identifier: Apache-2.0
// NUMA nodes of devices and bandwidths of NVLinks from an nvidia-smi matrix.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/topology/import/parsing.hpp"

namespace tutti {
namespace {

std::vector<std::optional<int>> nodes_of(const Host& host) {
    std::vector<std::optional<int>> nodes;
    for (const Device& device : host.devices) nodes.push_back(device.numa_node);
    return nodes;
}

using Nodes = std::vector<std::optional<int>>;

// Two NUMA nodes in each socket: between those of a socket the driver writes NODE.
const std::string two_nodes_a_socket =
    "      GPU0 GPU1 GPU2 GPU3 NIC0 NIC1 CPU Affinity NUMA Affinity GPU NUMA ID\n"
    "GPU0   X   NODE SYS  SYS  PIX  NODE 0-15  0 N/A\n"
    "GPU1  NODE  X   SYS  SYS  NODE PHB  16-31 1 N/A\n"
    "GPU2  SYS  SYS   X   NODE SYS  SYS  32-47 2 N/A\n"
    "GPU3  SYS  SYS  NODE  X   SYS  SYS  48-63 3 N/A\n"
    "NIC0  PIX  NODE SYS  SYS   X   NODE\n"
    "NIC1  NODE PHB  SYS  SYS  NODE  X\n";

TEST(NvidiaSmiPlaces, AreThoseOfTheAffinityColumnsWhereTheMatrixSaysNode) {
    const Host host = host_of(two_nodes_a_socket);
    EXPECT_EQ(nodes_of(host), (Nodes{0, 1, 2, 3, 0, 1}));
    ASSERT_EQ(host.numa_nodes.size(), 4u);
    for (const NumaNode& node : host.numa_nodes) EXPECT_EQ(node.cores.size(), 16u);
    EXPECT_FALSE(notes(host, "contradict"));
}

// Older drivers print only CPUs.
TEST(NvidiaSmiPlaces, AreDistinguishedByTheirCpusToo) {
    const Host host = host_of(
        "      GPU0 GPU1 GPU2 CPU Affinity\n"
        "GPU0   X   NODE NODE 0-15\n"
        "GPU1  NODE  X   NODE 16-31\n"
        "GPU2  NODE NODE  X   16-31\n");
    EXPECT_EQ(nodes_of(host), (Nodes{0, 1, 1}));
}

TEST(NvidiaSmiPlaces, HaveNumbersOnlyIfTheMatrixStatesThemOrTellsNodesApart) {
    const std::string together =
        "      GPU0 GPU1 NIC0\n"
        "GPU0   X   NODE SYS\n"
        "GPU1  NODE  X   SYS\n"
        "NIC0  SYS  SYS   X\n";
    EXPECT_EQ(nodes_of(host_of(together)), Nodes(3));
    const Host apart = host_of(with(with(together, "NODE", "SYS "), "NODE", "SYS "));
    EXPECT_EQ(nodes_of(apart), (Nodes{0, 1, std::nullopt}));
    EXPECT_TRUE(notes(apart, "numbers of"));
    EXPECT_TRUE(notes(apart, "NUMA node of NIC0"));
}

// Virtual machines show NICs with unknown NUMA node like this.
TEST(NvidiaSmiPlaces, OfNicsThatAreSysFromEverythingAreUnknown) {
    const Host host = host_of(
        "      GPU0 GPU1 NIC0 NIC1 NIC2 NIC3 CPU Affinity NUMA Affinity\n"
        "GPU0   X   SYS  SYS  SYS  SYS  SYS  0-7  0\n"
        "GPU1  SYS   X   SYS  SYS  SYS  SYS  8-15 1\n"
        "NIC0  SYS  SYS   X   SYS  SYS  SYS\n"
        "NIC1  SYS  SYS  SYS   X   SYS  SYS\n"
        "NIC2  SYS  SYS  SYS  SYS   X   PIX\n"
        "NIC3  SYS  SYS  SYS  SYS  PIX   X\n\n"
        "NIC Legend:\n\n  NIC0: mlx5_0\n");
    EXPECT_EQ(host.numa_nodes.size(), 2u);
    EXPECT_EQ(nodes_of(host),
              (Nodes{0, 1, std::nullopt, std::nullopt, std::nullopt, std::nullopt}));
    EXPECT_EQ(host.devices[4].above, host.devices[5].above);
    EXPECT_TRUE(notes(host, "NUMA node of mlx5_0, NIC1, NIC2, NIC3:"));
    EXPECT_FALSE(notes(host, "contradict"));
}

TEST(NvidiaSmiPlaces, OfNicsThatShareOneWithOtherNicsAreTheirs) {
    const Host host = host_of(
        "      GPU0 NIC0 NIC1 NUMA Affinity\n"
        "GPU0   X   SYS  SYS\n"
        "NIC0  SYS   X   NODE\n"
        "NIC1  SYS  NODE  X\n");
    EXPECT_EQ(nodes_of(host), (Nodes{0, 1, 1}));
}

std::string eight_gpus(const std::vector<int>& links) {
    std::string text;
    for (int column = 0; column < 8; ++column) text += fmt::format("\tGPU{}", column);
    text += "\tCPU Affinity\tNUMA Affinity\tGPU NUMA ID";
    for (std::size_t row = 0; row < 8; ++row) {
        text += fmt::format("\nGPU{}", row);
        for (std::size_t column = 0; column < 8; ++column) {
            const int both = std::min(links[row], links[column]);
            text += row == column ? "\t X " : both > 0 ? fmt::format("\tNV{}", both) : "\tNODE";
        }
        text += "\t0-55\t0\t\tN/A";
    }
    return text + "\n";
}

const std::vector<int> all_18(8, 18);

double bandwidth_GBps(const Host& host) { return host.links.at(0).bandwidth_GBps; }

TEST(NvidiaSmiLinks, OfBlackwellAreNotCountedAsHopper) {
    const std::string list =
        "GPU 0: NVIDIA B200 (UUID: GPU-5bfda7ef-6aec-a775-5ae1-a1c3dcaef094)\n";
    const std::string report = "GPU 0,1,2: NVIDIA B200\nGPU 0,1,2 Compute Capability: 10.0\n";
    const std::string table =
        "|   0  NVIDIA B200                    On  |   00000000:1B:00.0 Off |         0 |\n"
        "| N/A   31C    P0             73W /  700W |       0MiB /  81559MiB |   Default |\n";
    for (const std::string& text : {list + eight_gpus(all_18), eight_gpus(all_18) + "\n" + list,
                                    report + eight_gpus(all_18), table + eight_gpus(all_18)}) {
        const Host host = host_of(text);
        EXPECT_NEAR(bandwidth_GBps(host), 18 * 40.1, 1e-9);
        EXPECT_EQ(host.devices[0].model, "NVIDIA B200");
        EXPECT_EQ(host.devices[0].compute_capability, 100);
    }
    EXPECT_EQ(host_of(table + eight_gpus(all_18)).devices[0].pci_address, "0000:1b:00.0");
}

TEST(NvidiaSmiLinks, OfOtherModelsHaveTheirOwnBandwidth) {
    for (const auto& [model, links, of_one] : {std::tuple("NVIDIA H200", 18, 20.6),
                                               {"NVIDIA A100-SXM4-80GB", 12, 20.},
                                               {"NVIDIA GeForce RTX 3090", 4, 12.},
                                               {"NVIDIA GB200", 18, 40.1}}) {
        const Host host = host_of(fmt::format(
            "GPU 0: {0} (UUID: GPU-0)\nGPU 1: {0} (UUID: GPU-1)\n\tGPU0\tGPU1\nGPU0\t X \tNV{1}\n"
            "GPU1\tNV{1}\t X \n",
            model, links));
        EXPECT_NEAR(bandwidth_GBps(host), links * of_one, 1e-9) << model;
    }
}

TEST(NvidiaSmiLinks, ThatMayBeBlackwellsAreNoted) {
    const Host unknown = host_of(eight_gpus(all_18));
    EXPECT_NEAR(bandwidth_GBps(unknown), 18 * 20.6, 1e-9);
    EXPECT_TRUE(notes(unknown, "Blackwell"));
    std::string models;
    for (int gpu = 0; gpu < 8; ++gpu) models += fmt::format("GPU {}: NVIDIA H100 80GB HBM3\n", gpu);
    EXPECT_FALSE(notes(host_of(models + eight_gpus(all_18)), "Blackwell"));
    EXPECT_FALSE(notes(host_of(eight_gpus(std::vector(8, 12))), "Blackwell"));
}

// The remaining links of a GPU that lost some still lead to the NVSwitches: direct links between
// all pairs would need 7 * 18 links per GPU.
TEST(NvidiaSmiLinks, ToNvswitchesMayBeFewerForOneGpu) {
    std::vector<int> links = all_18;
    links[3] = 16;
    links[5] = 0;
    const Host host = host_of(eight_gpus(links));
    ASSERT_EQ(host.devices.size(), 9u);
    ASSERT_EQ(host.links.size(), 7u);
    for (const Link& link : host.links) {
        EXPECT_EQ(link.b.index, 8);
        EXPECT_EQ(link.count, link.a.index == 3 ? 16 : 18);
        EXPECT_NEAR(link.bandwidth_GBps, link.count * 20.6, 1e-9);
    }
}

}  // namespace
}  // namespace tutti
