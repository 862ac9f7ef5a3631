// SPDX-License-Identifier: Apache-2.0
// Hosts that were not read from NCCL's file come back from it, too.
#include <gtest/gtest.h>

#include "tests/topology/import/parsing.hpp"
#include "topology/routes/nccl_export.hpp"

namespace tutti {
namespace {

Host back(const Host& host) { return parse_machine(to_nccl_xml(host), "FILE").hosts.at(0); }

// Devices in the kernel's order of addresses, which differs from the order of the tree.
Host host_by_addresses() {
    Host host{.name = "node <7>", .cpu = {"x86_64", "AuthenticAMD", 25, 1}};
    host.cores = {{{0}}, {{1}}};
    host.numa_nodes = {{0, Bytes{}, {0}}, {1, Bytes{}, {1}}};
    host.pcie_switches = {{"0000:10:00.0", "1000:c010", {}, 1, {16, 16}, "1000:a096"},
                          {"0000:20:00.0", "1000:c010", {}, 0, {16, 16}, ""},
                          {"0000:30:00.0", "1000:c010", 0, 1, {16, 16}, ""}};
    const auto gpu = [](const char* address, int node, std::optional<int> above) {
        return Device{.kind = DeviceKind::gpu,
                      .pci_address = address,
                      .pci_id = "10de:20b2",
                      .names = {"nvml0", "cuda0"},
                      .numa_node = node,
                      .above = above,
                      .link = {16, 16},
                      .model = "NVIDIA A100-SXM4-80GB \"R&D\"",
                      .compute_capability = 80};
    };
    host.devices = {gpu("0000:01:00.0", 1, {}),
                    {.kind = DeviceKind::nic,
                     .pci_address = "0000:12:00.0",
                     .pci_id = "15b3:101b",
                     .names = {"ib0", "mlx5_0"},
                     .numa_node = 1,
                     .above = 0,
                     .model = "MT28908",
                     .ports = {{"mlx5_0", 200}}},
                    gpu("0000:21:00.0", 0, 1),
                    gpu("0000:31:00.0", 1, 2),
                    {.kind = DeviceKind::nic,
                     .names = {"eth0"},
                     .numa_node = 0,
                     .model = std::string(virtual_interface),
                     .ports = {{"eth0", 0}}},
                    gpu("0000:41:00.0", 0, {})};
    for (const auto& [a, b] : {std::pair(0, 2), {0, 3}, {2, 5}})
        host.links.push_back({.kind = LinkKind::nvlink,
                              .a = {LinkEnd::Kind::device, a},
                              .b = {LinkEnd::Kind::device, b},
                              .count = 4,
                              .bandwidth_GBps = 80});
    return host;
}

TEST(NcclRoundTrip, KeepsTheOrderOfDevicesAndSwitches) {
    const Host host = host_by_addresses(), read = back(host);
    ASSERT_EQ(read.devices.size(), host.devices.size());
    for (std::size_t i = 0; i < host.devices.size(); ++i)
        EXPECT_EQ(read.devices[i].pci_address, host.devices[i].pci_address);
    EXPECT_EQ(read.pcie_switches, host.pcie_switches);
    EXPECT_EQ(read.links, host.links);
}

TEST(NcclRoundTrip, KeepsNamesAndModels) {
    const Host host = host_by_addresses(), read = back(host);
    EXPECT_EQ(read.name, host.name);
    for (std::size_t i = 0; i < host.devices.size(); ++i)
        EXPECT_EQ(read.devices.at(i), host.devices[i]) << i << "\n" << to_nccl_xml(host);
}

TEST(NcclRoundTrip, KeepsModelsOfAmdGpus) {
    Host host = host_by_addresses();
    host.links.clear();
    for (Device& device : host.devices)
        if (device.kind == DeviceKind::gpu) {
            device.pci_id = "1002:740c";
            device.compute_capability = 0;
            device.model = "AMD Instinct MI250X";
        }
    host.devices[2].model.clear();
    for (std::size_t i = 0; i < host.devices.size(); ++i)
        EXPECT_EQ(back(host).devices.at(i), host.devices[i]) << i << "\n" << to_nccl_xml(host);
}

// tutti's attributes do not repeat data of NCCL's.
TEST(NcclRoundTrip, AddsNothingWhereTheFileSaysItAll) {
    const std::string text = R"(<system version="1"><cpu numaid="0">
<pci busid="0000:01:00.0" class="0x030200"><gpu dev="0" sm="80"/></pci>
<pci busid="0000:02:00.0" class="0x020700"><nic><net name="mlx5_0" speed="200000"/></nic></pci>
</cpu></system>)";
    const Host host = parse_machine(text, "FILE").hosts.at(0);
    EXPECT_EQ(to_nccl_xml(host).find("tutti"), std::string::npos) << to_nccl_xml(host);
}

// NCCL rejects values of more than 254 bytes.
TEST(NcclRoundTrip, LeavesOutWhatIsTooLongForNccl) {
    Host host = host_by_addresses();
    host.devices[0].model = std::string(300, 'x');
    EXPECT_EQ(back(host).devices[0].model, "");
}

TEST(NcclRoundTrip, BelievesNoOrderThatPutsASwitchBeforeTheOneAboveIt) {
    const Host host = parse_machine(R"(<system version="1"><cpu numaid="0">
<pci busid="0000:01:00.0" class="0x060400" tutti_position="1">
<pci busid="0000:02:00.0" class="0x060400" tutti_position="0">
<pci busid="0000:03:00.0" class="0x030200" tutti_position="7"/>
<pci busid="0000:04:00.0" class="0x020000" tutti_position="7"/>
</pci></pci></cpu></system>)",
                                    "FILE")
                          .hosts.at(0);
    EXPECT_EQ(host.pcie_switches[0].pci_address, "0000:01:00.0");
    EXPECT_EQ(host.pcie_switches[1].above, 0);
    EXPECT_EQ(host.devices[0].above, 1);
    EXPECT_TRUE(complaint_about(R"(<system version="1"><cpu numaid="0">
<pci busid="0000:01:00.0" class="0x030200" tutti_position="x"/></cpu></system>)")
                    .starts_with("FILE:2: tutti_position='x'"));
}

}  // namespace
}  // namespace tutti
