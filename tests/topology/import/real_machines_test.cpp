// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/topology/import/parsing.hpp"
#include "tests/topology/shared_data.hpp"
#include "topology/routes/nccl_export.hpp"

namespace tutti {
namespace {

// Expected numbers from the list of the files, or else counted in the file with a text tool.
struct Expected {
    const char* file;
    int gpus;
    int nics;       // devices of the network class
    int nic_ports;  // NIC ports named in the file
    int nvswitches;
    int numa_nodes;
    int cores;
    int nvlinks;  // each counted once
    int xgmi_links;
    const char* nic_name_prefix;  // names of the fast NICs
    int fast_nics;                // number of fast NICs
};

constexpr Expected machines[] = {
    // 16 V100 with 6 links each into the 6 switches of their board, 12 switches.
    {"hwloc/dgx2-16v100-nvswitch.xml", 16, 0, 0, 12, 2, 4, 96, 0, "", 0},
    {"hwloc/lassen-p9-4v100-4ib.xml", 4, 6, 6, 0, 2, 40, 0, 0, "mlx5_", 4},
    {"hwloc/jwb0004-epyc-4a100-4hdr.xml", 4, 6, 6, 0, 8, 48, 0, 0, "mlx5_", 4},
    {"hwloc/chimera-tr-gtx1070-vega-v1.xml", 2, 3, 3, 0, 4, 32, 0, 0, "", 0},
    // Every two of the 8 dies are one hop apart in the XGMIHops matrix.
    {"hwloc/tioga-mi250x-8gcd-hsi.xml", 8, 5, 5, 0, 4, 64, 0, 28, "hsi", 4},
    {"nccl/azure-ndv4-topo.xml", 8, 8, 0, 0, 4, 96, 0, 0, "", 0},
    // The rows lead to the GPU itself, so no pair is known.
    {"nccl/azure-ncv4-topo.xml", 4, 1, 1, 0, 4, 96, 0, 0, "eth", 1},
    // 8 H100 with 18 links each into 4 switches; 8 two-port NICs.
    {"nccl/oci-H100-topology.xml", 8, 8, 16, 4, 2, 224, 144, 0, "mlx5_", 8},
    {"nccl/aws-p4d-24xl-topo.xml", 8, 4, 0, 0, 2, 96, 0, 0, "", 0},
    // Two groups of four MI100, all joined to all: 2 * 6 pairs.
    {"nccl/rccl-topo_8p_rome_4nics.xml", 8, 4, 4, 0, 4, 256, 0, 12, "mlx5_", 4},
    // 6 links each: 8 * 6 / 2.
    {"nvsmi/dgx1-8v100-4ib.txt", 8, 4, 4, 0, 2, 80, 24, 0, "mlx5_", 4},
};

class RealMachine : public testing::TestWithParam<Expected> {
protected:
    void SetUp() override {
        const auto folder = shared_topology();
        if (!folder) GTEST_SKIP() << "no shared/data/topology next to the checkout";
        file_ = *folder / GetParam().file;
        host_ = read_machine(file_).hosts.at(0);
    }

    int devices(DeviceKind kind) const {
        return static_cast<int>(std::ranges::count(host_.devices, kind, &Device::kind));
    }
    int links(LinkKind kind) const {
        int count = 0;
        for (const Link& link : host_.links)
            if (link.kind == kind) count += link.count;
        return count;
    }

    std::filesystem::path file_;
    Host host_;
};

TEST_P(RealMachine, IsTheOneThatItsDescriptionDescribes) {
    const Expected& expected = GetParam();
    EXPECT_EQ(devices(DeviceKind::gpu), expected.gpus);
    EXPECT_EQ(devices(DeviceKind::nic), expected.nics);
    EXPECT_EQ(devices(DeviceKind::nvswitch), expected.nvswitches);
    EXPECT_EQ(static_cast<int>(host_.numa_nodes.size()), expected.numa_nodes);
    EXPECT_EQ(static_cast<int>(host_.cores.size()), expected.cores);
    EXPECT_EQ(links(LinkKind::nvlink), expected.nvlinks);
    EXPECT_EQ(links(LinkKind::xgmi), expected.xgmi_links);
    int ports = 0, fast = 0;
    for (const Device& device : host_.devices) {
        ports += static_cast<int>(device.ports.size());
        if (device.kind == DeviceKind::nic && *expected.nic_name_prefix)
            fast += std::ranges::any_of(device.names, [&](const std::string& name) {
                return name.starts_with(expected.nic_name_prefix);
            });
    }
    EXPECT_EQ(ports, expected.nic_ports);
    EXPECT_EQ(fast, expected.fast_nics);
}

TEST_P(RealMachine, HasEachGpuAndFastNicAtANumaNodeOfItsOwnList) {
    for (const Device& device : host_.devices) {
        if (device.kind == DeviceKind::nvswitch) continue;
        ASSERT_TRUE(device.numa_node) << device.pci_address;
        EXPECT_NE(std::ranges::find(host_.numa_nodes, *device.numa_node, &NumaNode::os_index),
                  host_.numa_nodes.end());
    }
}

TEST_P(RealMachine, ComesBackFromItsJson) {
    const Machine machine = read_machine(file_);
    EXPECT_EQ(parse_machine(to_json(machine), "FILE"), machine);
}

// Exports twice: the first time removes data that NCCL's file cannot have.
TEST_P(RealMachine, ComesBackFromNcclXml) {
    if (std::string(GetParam().file).starts_with("nvsmi/"))
        GTEST_SKIP() << "nvidia-smi gives no PCI addresses, by which NCCL knows its GPUs";
    const Host once = parse_machine(to_nccl_xml(host_), "FILE").hosts.at(0);
    EXPECT_EQ(parse_machine(to_nccl_xml(once), "FILE").hosts.at(0), once);
    const auto bandwidth_GBps = [](const Host& host) {
        double sum = 0;
        for (const Link& link : host.links) sum += link.bandwidth_GBps;
        return sum;
    };
    ASSERT_EQ(once.devices.size(), host_.devices.size());
    for (std::size_t i = 0; i < once.devices.size(); ++i) {
        EXPECT_EQ(once.devices[i].pci_address, host_.devices[i].pci_address);
        EXPECT_EQ(once.devices[i].names, host_.devices[i].names);
        EXPECT_EQ(once.devices[i].model, host_.devices[i].model);
    }
    EXPECT_EQ(once.name, host_.name);
    EXPECT_EQ(once.links.size(), host_.links.size());
    EXPECT_NEAR(bandwidth_GBps(once), bandwidth_GBps(host_), 1e-6);
    EXPECT_EQ(once.pcie_switches.size(), host_.pcie_switches.size());
    if (std::string(GetParam().file).starts_with("nccl/")) {
        Host read = host_, back = once;
        read.not_seen.clear();  // rows that NCCL ignores are not written
        back.not_seen.clear();
        EXPECT_EQ(back, read);
    }
}

TEST_P(RealMachine, IsRefusedWithALineWhereverItsFileIsCutOff) {
    std::string text = content_of(file_);
    while (text.ends_with('\n') || text.ends_with(' ')) text.pop_back();
    const bool is_matrix = text.find('<') == std::string::npos;
    // A matrix is complete without its legend.
    const std::size_t end = is_matrix ? text.find("\n\n") - 4 : text.size() - 1;
    const std::size_t step = std::max<std::size_t>(end / 97, 1);
    for (std::size_t cut = 0; cut <= end; cut += step) {
        const std::string complaint = complaint_about(std::string_view(text).substr(0, cut));
        EXPECT_TRUE(names_a_line(complaint)) << "cut at " << cut << ": " << complaint;
    }
    EXPECT_TRUE(names_a_line(complaint_about(std::string_view(text).substr(0, end))));
}

TEST_P(RealMachine, SurvivesDamageAnywhere) {
    const std::string text = content_of(file_);
    for (std::size_t at = 0; at < text.size(); at += std::max<std::size_t>(text.size() / 61, 1)) {
        std::string damaged = text;
        damaged[at] = damaged[at] == '"' ? '<' : '"';
        const std::string complaint = complaint_about(damaged);
        EXPECT_TRUE(complaint.empty() || names_a_line(complaint)) << at << ": " << complaint;
    }
}

std::string name_of(const testing::TestParamInfo<Expected>& info) {
    std::string name;
    for (const char c : std::string(info.param.file))
        if (std::isalnum(static_cast<unsigned char>(c))) name += c;
    return name;
}

INSTANTIATE_TEST_SUITE_P(All, RealMachine, testing::ValuesIn(machines), name_of);

// NVLinks from hwloc, NCCL and nvidia-smi have the bandwidths of link_speeds.hpp.
TEST(RealMachines, HaveTheBandwidthOfTheirNvlinks) {
    const auto folder = shared_topology();
    if (!folder) GTEST_SKIP() << "no shared/data/topology next to the checkout";
    const auto bandwidth_GBps = [&](const char* file) {
        const Machine machine = read_machine(*folder / file);
        double sum = 0;
        for (const Link& link : machine.hosts.at(0).links) sum += link.bandwidth_GBps;
        return sum;
    };
    EXPECT_NEAR(bandwidth_GBps("nccl/oci-H100-topology.xml"), 8 * 370.8, 1e-6);
    EXPECT_NEAR(bandwidth_GBps("hwloc/dgx2-16v100-nvswitch.xml"), 16 * 6 * 20, 1e-6);
    EXPECT_NEAR(bandwidth_GBps("nvsmi/dgx1-8v100-4ib.txt"), 24 * 20, 1e-6);
    EXPECT_NEAR(bandwidth_GBps("nccl/rccl-topo_8p_rome_4nics.xml"), 12 * 24, 1e-6);
}

TEST(RealMachines, AreAllOfThoseInTheFolder) {
    const auto folder = shared_topology();
    if (!folder) GTEST_SKIP() << "no shared/data/topology next to the checkout";
    int files = 0;
    for (const char* kind : {"hwloc", "nccl", "nvsmi"})
        for (const auto& entry : std::filesystem::directory_iterator(*folder / kind)) {
            ++files;
            EXPECT_TRUE(std::ranges::any_of(machines, [&](const Expected& machine) {
                return entry.path().filename() == std::filesystem::path(machine.file).filename();
            })) << entry.path();
        }
    EXPECT_EQ(files, static_cast<int>(std::size(machines)));
}

}  // namespace
}  // namespace tutti
