// SPDX-License-Identifier: Apache-2.0
// Devices that NCCL's file describes incompletely.
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/topology/import/parsing.hpp"
#include "topology/routes/nccl_export.hpp"
#include "topology/routes/paths.hpp"

namespace tutti {
namespace {

std::vector<DeviceKind> kinds_of(const Host& host) {
    std::vector<DeviceKind> kinds;
    for (const Device& device : host.devices) kinds.push_back(device.kind);
    return kinds;
}

// Hand-written files lack classes, which NCCL then asks the kernel for.
TEST(NcclDevices, AreKnownWithoutTheirClass) {
    const Host host = host_of(R"(<system version="1"><cpu numaid="0">
<pci busid="0000:01:00.0" link_speed="16 GT/s" link_width="16">
<pci busid="0000:02:00.0"><gpu dev="0" sm="80"><nvlink target="0000:03:00.0" count="4" tclass="0x030200"/>
<nvlink target="0000:09:00.0" count="8" tclass="0x068000"/></gpu></pci>
<pci busid="0000:03:00.0"/>
<pci busid="0000:04:00.0" vendor="0x10de" device="0x20b0"/>
<pci busid="0000:05:00.0" vendor="0x15b3" device="0x101b"/>
<pci busid="0000:06:00.0" vendor="0x1d0f" device="0xefa1"/>
<pci busid="0000:07:00.0"><nic><net name="mlx5_1" speed="200000"/></nic></pci>
<pci busid="0000:08:00.0" vendor="0x1002" device="0x7408"/>
<pci busid="0000:09:00.0"/>
<pci busid="0000:0a:00.0" vendor="0x10de" device="0x22a3"/>
</pci></cpu></system>)");
    ASSERT_EQ(host.pcie_switches.size(), 1u);
    EXPECT_EQ(host.pcie_switches[0].link, (PcieLink{16, 16}));
    using enum DeviceKind;
    EXPECT_EQ(kinds_of(host), (std::vector{gpu, gpu, gpu, nic, nic, nic, gpu, nvswitch, nvswitch}));
    for (const Device& device : host.devices) EXPECT_EQ(device.above, 0) << device.pci_address;
    ASSERT_EQ(host.links.size(), 2u);
    EXPECT_EQ(host.links[0].count, 4);
    EXPECT_FALSE(notes(host, "devices at"));
}

TEST(NcclDevices, OfUnknownKindAreListed) {
    std::string text = "<system version=\"1\"><cpu numaid=\"0\">";
    for (const char* bus : {"01", "02", "03", "04", "05", "06"})
        text += std::string("<pci busid=\"0000:") + bus + ":00.0\"/>";
    const Host host = host_of(text + "</cpu></system>");
    EXPECT_TRUE(host.devices.empty());
    EXPECT_TRUE(notes(host, "0000:03:00.0, 0000:04:00.0 and 2 more:"));
}

TEST(NcclDevices, OfOtherKindsAreNotListed) {
    const Host host = host_of(
        R"(<system version="1"><cpu numaid="0"><pci busid="0000:01:00.0" class="0x010802"/></cpu></system>)");
    EXPECT_FALSE(notes(host, "devices at"));
}

// NCCL asks the kernel for the class of the target; tutti finds the GPU in the file.
TEST(NcclDevices, AreKnownAsPeersWithoutTheClassOfTheTarget) {
    const Host host = host_of(R"(<system version="1"><cpu numaid="0">
<pci busid="0000:01:00.0"><gpu dev="0" sm="80"><nvlink target="0000:02:00.0" count="4"/></gpu></pci>
<pci busid="0000:02:00.0"><gpu dev="1" sm="80"><nvlink target="0000:01:00.0" count="4"/></gpu></pci>
</cpu></system>)");
    EXPECT_EQ(host.devices.size(), 2u);
    ASSERT_EQ(host.links.size(), 1u);
    EXPECT_EQ(host.links[0].count, 4);
}

// Two GPUs of 18 links into an NVSwitch and two to each other; the first is in two parts.
const std::string divided = R"(<system version="1"><cpu numaid="0">
<pci busid="0000:01:00.0" class="0x030200" link_speed="32.0 GT/s PCIe" link_width="16">
<gpu dev="0" sm="100" rank="0" mlopart="0"><nvlink target="0000:02:00.0" count="2" tclass="0x030200"/><nvlink target="fffffff:ffff:ff" count="16" tclass="0x068000"/><c2c bw="44712" count="10"/></gpu>
<gpu dev="0" sm="100" rank="1" mlopart="1"><nvlink target="0000:02:00.0" count="2" tclass="0x030200"/><nvlink target="fffffff:ffff:ff" count="16" tclass="0x068000"/><c2c bw="44712" count="10"/></gpu></pci>
<pci busid="0000:02:00.0" class="0x030200"><gpu dev="1" sm="100" rank="2" mlopart="-1"><nvlink target="0000:01:00.0" count="2" tclass="0x030200"/><nvlink target="fffffff:ffff:ff" count="16" tclass="0x068000"/></gpu></pci>
</cpu></system>)";

TEST(NcclDevices, AreTwoWhereAGpuIsDivided) {
    const Host host = host_of(divided);
    ASSERT_EQ(host.devices.size(), 4u);
    EXPECT_EQ(host.devices[0].kind, DeviceKind::gpu);
    EXPECT_EQ(host.devices[1].kind, DeviceKind::gpu);
    EXPECT_EQ(host.devices[0].pci_address, host.devices[1].pci_address);
    EXPECT_EQ(host.devices[2].pci_address, "0000:02:00.0");
    EXPECT_TRUE(notes(host, "GPU at 0000:01:00.0"));
    EXPECT_EQ(graph_of(host).gpus.size(), 3u);
}

TEST(NcclDevices, ShareTheLinksOfADividedGpu) {
    double to_peer = 0, to_switch = 0, to_cpu = 0;
    const Host host = host_of(divided);
    for (const Link& link : host.links) {
        if (link.a.index > 1) continue;  // the undivided GPU
        double& sum = link.kind == LinkKind::c2c ? to_cpu : link.b.index == 2 ? to_peer : to_switch;
        sum += link.bandwidth_GBps;
    }
    EXPECT_NEAR(to_peer, 2 * 40.1, 1e-9);
    EXPECT_NEAR(to_switch, 16 * 40.1, 1e-9);
    EXPECT_NEAR(to_cpu, 447.12, 1e-9);
}

// Two links between two GPUs that are both in two parts: four pairs of parts share them.
TEST(NcclDevices, ShareTheLinksOfTwoDividedGpus) {
    const auto part = [](int dev, int number, const char* peer) {
        return "<gpu dev=\"" + std::to_string(dev) + "\" sm=\"100\" mlopart=\"" +
               std::to_string(number) + "\"><nvlink target=\"" + peer +
               "\" count=\"2\" tclass=\"0x030200\"/></gpu>";
    };
    const auto gpu = [&](int dev, const std::string& address, const char* peer) {
        return "<pci busid=\"" + address + "\" class=\"0x030200\">" + part(dev, 0, peer) +
               part(dev, 1, peer) + "</pci>";
    };
    const Host host = host_of("<system version=\"1\"><cpu numaid=\"0\">" +
                              gpu(0, "0000:01:00.0", "0000:02:00.0") +
                              gpu(1, "0000:02:00.0", "0000:01:00.0") + "</cpu></system>");
    ASSERT_EQ(host.links.size(), 4U);
    for (const Link& link : host.links) EXPECT_NEAR(link.bandwidth_GBps, 2 * 40.1 / 4, 1e-9);
}

TEST(NcclDevices, OfADividedGpuMayHaveRowsInTheFirstPartAlone) {
    std::string text = divided;
    const std::string second = R"(mlopart="1">)";
    const std::size_t start = text.find(second) + second.size();
    text.erase(start, text.find("</gpu>", start) - start);
    EXPECT_EQ(host_of(text).links, host_of(divided).links);
}

TEST(NcclDevices, AreOneWhereTwoRanksShareIt) {
    std::string text = divided;
    text.replace(text.find(R"(mlopart="1")"), 11, R"(mlopart="0")");
    EXPECT_EQ(host_of(text).devices.size(), 3u);
}

TEST(NcclDevices, ComeBackDivided) {
    const Host host = host_of(divided);
    EXPECT_EQ(host_of(to_nccl_xml(host)), host);
    EXPECT_NE(to_nccl_xml(host).find(R"(<gpu dev="0" sm="100" mlopart="1")"), std::string::npos);
}

TEST(NcclDevices, HaveFewPartsEach) {
    std::string text = "<system version=\"1\"><cpu numaid=\"0\"><pci busid=\"0000:01:00.0\">";
    for (int part = 0; part < 65; ++part) text += "<gpu/>";
    EXPECT_TRUE(complaint_about(text + "</pci></cpu></system>").starts_with("FILE:1: "));
}

}  // namespace
}  // namespace tutti
