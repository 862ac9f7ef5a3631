// SPDX-License-Identifier: Apache-2.0
// Paths and rings of real machines, whose files are not part of the source tree.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>

#include "tests/topology/shared_data.hpp"
#include "topology/import/import.hpp"
#include "topology/routes/rings.hpp"

namespace tutti {
namespace {

std::optional<std::filesystem::path> data_file(const std::string& name) {
    const auto folder = shared_topology();
    return folder ? std::optional(*folder / name) : std::nullopt;
}

struct RealCase {
    const char* file;
    int nvlinks;            ///< NVLinks that the file leaves to the driver
    double bandwidth_GBps;  ///< of the rings, by NCCL's constants
    PathType inside;
    const char* why;
};

class RealRings : public testing::TestWithParam<RealCase> {};

TEST_P(RealRings, AreAsWideAsTheMachinesLinks) {
    const RealCase& expected = GetParam();
    const auto file = data_file(expected.file);
    if (!file) GTEST_SKIP() << "no shared/data/topology/" << expected.file << " above the checkout";
    Machine machine = read_machine(*file);
    ASSERT_EQ(machine.hosts.size(), 1u);
    if (expected.nvlinks > 0)
        machine.hosts.front() = with_nvswitches(machine.hosts.front(), expected.nvlinks);
    const RingPlan plan = plan_rings(machine);
    EXPECT_NEAR(plan.found.bandwidth_GBps, expected.bandwidth_GBps, 0.001 * expected.bandwidth_GBps)
        << expected.why;
    EXPECT_EQ(plan.found.inside, expected.inside);
    EXPECT_GE(plan.found.bandwidth_GBps, plan.naive.bandwidth_GBps);
    if (expected.inside == PathType::nvl) {
        EXPECT_FALSE(plan.found.kinds.contains(EdgeKind::pcie));
        EXPECT_FALSE(plan.found.kinds.contains(EdgeKind::sockets));
    }
}

INSTANTIATE_TEST_SUITE_P(
    Files, RealRings,
    testing::Values(
        RealCase{"nvsmi/dgx1-8v100-4ib.txt", 0, 120, PathType::nvl, "6 links of 20 leave a V100"},
        RealCase{"hwloc/dgx2-16v100-nvswitch.xml", 0, 120, PathType::nvl,
                 "6 links of 20 from each V100 to the NVSwitches"},
        RealCase{"nccl/oci-H100-topology.xml", 0, 370.8, PathType::nvl,
                 "18 links of 20.6 from each H100 to the NVSwitches"},
        RealCase{"hwloc/tioga-mi250x-8gcd-hsi.xml", 0, 252, PathType::nvl,
                 "the file joins each GCD to seven others, at 36"},
        RealCase{"nccl/azure-ndv4-topo.xml", 12, 240, PathType::nvl,
                 "12 links of 20 from each A100 to the NVSwitches, which the file leaves out"},
        RealCase{"nccl/azure-ndv4-topo.xml", 0, 24, PathType::sys,
                 "PCIe as the file has it: 24 upwards from each pair of GPUs"},
        RealCase{"nccl/aws-p4d-24xl-topo.xml", 12, 240, PathType::nvl, "as ndv4"},
        RealCase{"hwloc/lassen-p9-4v100-4ib.xml", 0, 3, PathType::sys,
                 "no NVLink in the file; two GPUs under a switch of x4 generation 3, and the way "
                 "between its two ports is 0.75 for each of 4 lanes"},
        RealCase{"nccl/rccl-topo_8p_rome_4nics.xml", 0, 48, PathType::sys,
                 "two switches of 24 lead out of each xGMI island"}));

TEST(RealPaths, AreThoseThatNvidiaSmiPrinted) {
    const auto file = data_file("nvsmi/dgx1-8v100-4ib.txt");
    if (!file) GTEST_SKIP() << "no shared/data/topology above the checkout";
    const HostGraph graph = graph_of(read_machine(*file).hosts.front());
    std::map<std::string, int> node_named;
    for (std::size_t i = 0; i < graph.nodes.size(); ++i)
        node_named[graph.nodes[i].name] = static_cast<int>(i);

    std::ifstream text(*file);
    std::string line;
    std::getline(text, line);
    std::istringstream header(line);
    std::vector<std::string> columns;
    for (std::string word; header >> word && word != "CPU";) columns.push_back(word);
    ASSERT_EQ(columns.size(), 12u);
    for (std::size_t row = 0; row < columns.size(); ++row) {
        std::getline(text, line);
        std::istringstream cells(line);
        std::string name;
        cells >> name;
        for (const std::string& column : columns) {
            std::string word;
            cells >> word;
            EXPECT_EQ(smi_word(graph, node_named.at(name), node_named.at(column)), word)
                << name << " to " << column;
        }
    }
}

// Eight H100 with 16 ports of 180 Gbit/s, two per NIC: rings use all ports evenly, 22.5 GB/s each,
// and NVLink (370.8 GB/s) has to carry the total.
TEST(RealHosts, InPairsUseEveryPort) {
    const auto file = data_file("nccl/oci-H100-topology.xml");
    if (!file) GTEST_SKIP() << "no shared/data/topology above the checkout";
    const RingPlan plan = plan_rings(copies_of(read_machine(*file).hosts.front(), 2));
    EXPECT_NEAR(plan.found.bandwidth_GBps, 16 * 22.5, 1e-6);
    EXPECT_EQ(plan.found.channels.size(), 16u);
    EXPECT_EQ(plan.found.to_port, PathType::pix);
    EXPECT_EQ(plan.found.kinds, std::set{EdgeKind::nvlink});
}

}  // namespace
}  // namespace tutti
