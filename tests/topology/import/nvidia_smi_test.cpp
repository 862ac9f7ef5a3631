// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/topology/import/parsing.hpp"
#include "tests/topology/machines.hpp"

namespace tutti {
namespace {

using machines::device;

// Terminal output: underlined header, tabs, a legend with the NICs' names.
const std::string new_driver =
    "$ nvidia-smi topo -m\n"
    "\t\x1b[4mGPU0\tGPU1\tGPU2\tGPU3\tNIC0\tCPU Affinity\tNUMA Affinity\tGPU NUMA ID\x1b[0m\n"
    "GPU0\t X \tNV6\tSYS\tSYS\tPIX\t0-3\t0\t\tN/A\n"
    "GPU1\tNV6\t X \tSYS\tSYS\tPXB\t0-3\t0\t\tN/A\n"
    "GPU2\tSYS\tSYS\t X \tNODE\tSYS\t4-7\t2\t\tN/A\n"
    "GPU3\tSYS\tSYS\tNODE\t X \tSYS\t4-7\t2\t\tN/A\n"
    "NIC0\tPIX\tPXB\tSYS\tSYS\t X \t\t\t\n\n"
    "Legend:\n\n  X    = Self\n\nNIC Legend:\n\n  NIC0: mlx5_bond_0\n\n";

TEST(NvidiaSmi, GivesGpusNicsAndNumaNodes) {
    const Host host = host_of(new_driver);
    ASSERT_EQ(host.devices.size(), 5u);
    EXPECT_EQ(host.devices[0].names, std::vector<std::string>{"GPU0"});
    EXPECT_EQ(host.devices[4].kind, DeviceKind::nic);
    EXPECT_EQ(host.devices[4].names, std::vector<std::string>{"mlx5_bond_0"});
    EXPECT_EQ(host.numa_nodes,
              (std::vector<NumaNode>{{0, Bytes{}, {0, 1, 2, 3}}, {2, Bytes{}, {4, 5, 6, 7}}}));
    std::vector<std::optional<int>> nodes;
    for (const Device& each : host.devices) nodes.push_back(each.numa_node);
    EXPECT_EQ(nodes, (std::vector<std::optional<int>>{0, 0, 2, 2, 0}));
}

// GPU0 and the NIC share a switch; GPU1 is below another, and both are below a third.
TEST(NvidiaSmi, BuildsSwitchesThatFitTheMatrix) {
    const Host host = host_of(new_driver);
    ASSERT_EQ(host.pcie_switches.size(), 3u);
    EXPECT_EQ(host.devices[0].above, host.devices[4].above);
    EXPECT_NE(host.devices[0].above, host.devices[1].above);
    const auto top = [&](int at) { return host.pcie_switches[*host.devices[at].above].above; };
    ASSERT_TRUE(top(0));
    EXPECT_EQ(top(0), top(1));
    EXPECT_EQ(host.devices[2].above, std::nullopt);
    EXPECT_EQ(host.devices[3].above, std::nullopt);
}

TEST(NvidiaSmi, ReadsBlanksAsWellAsTabs) {
    std::string blanks = new_driver;
    std::ranges::replace(blanks, '\t', ' ');
    EXPECT_EQ(host_of(blanks), host_of(new_driver));
    std::string windows = new_driver;
    for (std::size_t at = 0; (at = windows.find('\n', at)) != std::string::npos; at += 2)
        windows.insert(at, 1, '\r');
    EXPECT_EQ(host_of(windows), host_of(new_driver));
}

// The matrix of n GPUs with as many links between any two.
std::string all_to_all(int gpus, int links) {
    std::string text;
    for (int column = 0; column < gpus; ++column) text += "\tGPU" + std::to_string(column);
    for (int row = 0; row < gpus; ++row) {
        text += "\nGPU" + std::to_string(row);
        for (int column = 0; column < gpus; ++column)
            text += row == column ? "\t X " : "\tNV" + std::to_string(links);
    }
    return text + "\n";
}

TEST(NvidiaSmi, TakesPairsForLinksWhereAGpuHasThatManyLinks) {
    const Host host = host_of(all_to_all(4, 6));  // 3 * 6 = 18 of each GPU
    EXPECT_EQ(host.devices.size(), 4u);
    ASSERT_EQ(host.links.size(), 6u);
    EXPECT_EQ(host.links[0], (Link{LinkKind::nvlink, device(0), device(1), 6, 120}));
}

TEST(NvidiaSmi, TakesMoreLinksThanAGpuHasForAnNvswitch) {
    for (const auto& [gpus, links, bandwidth_GBps] :
         {std::tuple(8, 12, 240.), {16, 6, 120.}, {8, 18, 370.8}, {4, 18, 370.8}}) {
        const Host host = host_of(all_to_all(gpus, links));
        ASSERT_EQ(static_cast<int>(host.devices.size()), gpus + 1);
        EXPECT_EQ(host.devices.back().kind, DeviceKind::nvswitch);
        ASSERT_EQ(static_cast<int>(host.links.size()), gpus);
        for (const Link& link : host.links) {
            EXPECT_EQ(link.b, device(gpus));
            EXPECT_EQ(link.count, links);
            EXPECT_NEAR(link.bandwidth_GBps, bandwidth_GBps, 1e-9);
        }
    }
}

TEST(NvidiaSmi, LeavesOpenWhatNvlinkHidesFromEveryone) {
    for (const Device& each : host_of(all_to_all(8, 18)).devices) {
        EXPECT_EQ(each.numa_node, std::nullopt);
        EXPECT_EQ(each.above, std::nullopt);
    }
}

TEST(NvidiaSmi, NotesAMatrixThatNoTreeFits) {
    const Host host = host_of(
        "     GPU0 GPU1 GPU2\n"
        "GPU0  X   PIX  SYS\n"
        "GPU1 PIX   X   PIX\n"
        "GPU2 SYS  PIX   X\n");
    EXPECT_TRUE(notes(host, "1 pairs contradict"));
}

TEST(NvidiaSmi, ComplainsWithTheLine) {
    const struct {
        const char *from, *to, *complaint;
    } faults[] = {{"SYS\tSYS\tPIX\t0", "SYS\tFAR\tPIX\t0", "FILE:3: 'FAR'"},
                  {"NV6\tSYS", "NV4\tSYS", "FILE:4: 'GPU1' to 'GPU0'"},
                  {"GPU2\tSYS", "GPU9\tSYS", "FILE:5: 'GPU9'"},
                  {"NIC0\tPIX\tPXB\tSYS\tSYS\t X ", "NIC0\tPIX\tPXB", "FILE:7: 2 cells"},
                  {"0-3", "3-0", "FILE:3: '3-0'"},
                  {"0-3", "0-99999", "FILE:3: '99999'"},
                  {" X \tNV6", "NV6\tNV6", "FILE:3: 'NV6'"}};
    for (const auto& [from, to, expected] : faults) {
        const std::string complaint = complaint_about(with(new_driver, from, to));
        EXPECT_TRUE(complaint.starts_with(expected)) << complaint;
    }
    EXPECT_TRUE(names_a_line(complaint_about("\tGPU0\tGPU1\nGPU0\t X \tNV1\n")));
}

}  // namespace
}  // namespace tutti
