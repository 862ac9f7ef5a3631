// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/topology/import/parsing.hpp"
#include "tests/topology/machines.hpp"
#include "topology/routes/nccl_export.hpp"

namespace tutti {
namespace {

using machines::device;

// Two GPUs with a switch each under a common one, two links between them and three into an
// NVSwitch; a NIC with two ports; a NIC without PCI address.
const std::string two_gpus = R"(<system version="1">
<cpu numaid="0" affinity="00000001,0000000f" arch="x86_64" vendor="GenuineIntel" familyid="6" modelid="143">
<pci busid="0000:01:00.0" class="0x060400" vendor="0x1000" device="0xc030" subsystem_vendor="0x1000" subsystem_device="0x0072" link_speed="32.0 GT/s PCIe" link_width="16">
<pci busid="0000:02:00.0" class="0x030200" vendor="0x10de" device="0x2330" link_speed="16 GT/s" link_width="8">
<gpu dev="0" sm="90" rank="0" gdr="1">
<nvlink target="0000:03:00.0" count="2" tclass="0x030200"/>
<nvlink target="0000:0A:00.0" count="3" tclass="0x068000"/>
</gpu></pci>
<pci busid="0000:03:00.0" class="0x030200" vendor="0x10de" device="0x2330" link_speed="" link_width="0">
<gpu dev="1" sm="90"><nvlink target="0000:02:00.0" count="2" tclass="0x030200"/></gpu></pci>
<pci busid="0000:04:00.0" class="0x020700"><nic>
<net name="mlx5_0" dev="0" speed="200000" port="1"/><net name="mlx5_1" dev="1" speed="0" port="2"/></nic></pci>
</pci></cpu>
<cpu numaid="1"><nic><net name="eth0" dev="2" speed="100000"/></nic></cpu>
</system>
)";

TEST(NcclXml, GivesCpusAndNumaNodes) {
    const Host host = host_of(two_gpus);
    EXPECT_EQ(host.cpu, (CpuIdentity{"x86_64", "GenuineIntel", 6, 143}));
    const Machine unknown = parse_machine(with(two_gpus, "familyid=\"6", "familyid=\"-1"), "FILE");
    EXPECT_EQ(unknown.hosts[0].cpu.family, 0);
    EXPECT_EQ(parse_machine(to_json(unknown), "FILE"), unknown);
    EXPECT_EQ(host.cores, (std::vector<Core>{{{0}}, {{1}}, {{2}}, {{3}}, {{32}}}));
    EXPECT_EQ(host.numa_nodes,
              (std::vector<NumaNode>{{0, Bytes{}, {0, 1, 2, 3, 4}}, {1, Bytes{}, {}}}));
}

TEST(NcclXml, GivesTheTreeWithSpeeds) {
    const Host host = host_of(two_gpus);
    EXPECT_EQ(
        host.pcie_switches,
        (std::vector<PcieSwitch>{{"0000:01:00.0", "1000:c030", {}, 0, {32, 16}, "1000:0072"}}));
    ASSERT_EQ(host.devices.size(), 5u);
    EXPECT_EQ(host.devices[0], (Device{.kind = DeviceKind::gpu,
                                       .pci_address = "0000:02:00.0",
                                       .pci_id = "10de:2330",
                                       .names = {"GPU0"},
                                       .numa_node = 0,
                                       .above = 0,
                                       .link = {16, 8},
                                       .compute_capability = 90}));
    EXPECT_EQ(host.devices[1].link, PcieLink{});
    EXPECT_EQ(host.devices[2].ports, (std::vector<Port>{{"mlx5_0", 200}, {"mlx5_1", 0}}));
    EXPECT_EQ(
        host.devices[3],
        (Device{
            .kind = DeviceKind::nic, .names = {"eth0"}, .numa_node = 1, .ports = {{"eth0", 100}}}));
    EXPECT_EQ(host.devices[4],
              (Device{.kind = DeviceKind::nvswitch, .pci_address = "0000:0a:00.0"}));
}

TEST(NcclXml, CountsALinkOnceThoughBothGpusHaveARow) {
    const Host host = host_of(two_gpus);
    ASSERT_EQ(host.links.size(), 2u);
    EXPECT_EQ(host.links[0], (Link{LinkKind::nvlink, device(0), device(1), 2, 2 * 20.6}));
    EXPECT_EQ(host.links[1].b, device(4));
    EXPECT_NEAR(host.links[1].bandwidth_GBps, 3 * 20.6, 1e-9);
}

// NCCL looks for the other GPU and finds the same one.
TEST(NcclXml, IgnoresLinksOfAGpuToItselfAndSaysSo) {
    const Host host = host_of(with(two_gpus, R"(<nvlink target="0000:03:00.0" count="2")",
                                   R"(<nvlink target="0000:02:00.0" count="2")"));
    EXPECT_TRUE(notes(host, "0000:02:00.0: "));
}

TEST(NcclXml, TakesTheSwitchThatAVirtualMachineHidesAsOne) {
    std::string text = with(two_gpus, "0000:0A:00.0", "fffffff:ffff:ff");
    text = with(text, R"(<nvlink target="0000:02:00.0" count="2" tclass="0x030200"/>)",
                R"(<nvlink target="fffffff:ffff:ff" count="3" tclass="0x068000"/>)");
    const Host host = host_of(text);
    ASSERT_EQ(host.devices.size(), 5u);
    EXPECT_EQ(host.devices[4], (Device{.kind = DeviceKind::nvswitch}));
    EXPECT_EQ(host.links.size(), 3u);
}

TEST(NcclXml, JoinsAGpuToItsCpu) {
    const Host nvlink = host_of(with(two_gpus, R"(tclass="0x068000")", R"(tclass="0x068001")"));
    EXPECT_EQ(nvlink.links.at(1).b, (LinkEnd{LinkEnd::Kind::numa_node, 0}));
    const Host c2c =
        host_of(with(two_gpus, R"(<nvlink target="0000:0A:00.0" count="3" tclass="0x068000"/>)",
                     R"(<c2c bw="44712" count="10"/>)"));
    EXPECT_EQ(c2c.links.at(1),
              (Link{LinkKind::c2c, device(0), {LinkEnd::Kind::numa_node, 0}, 10, 447.12}));
}

// Without <gpu> and vendor the class decides, as in files of cloud providers.
TEST(NcclXml, KnowsGpusByTheirClassWhereNcclIsToFillThemIn) {
    const Host host = host_of(R"(<system version="1"><cpu numaid="0">
<pci busid="0003:00:00.0" class="0x030200"/><pci busid="0103:00:00.0" class="0x020700"/>
<pci busid="0004:00:00.0" class="0x120000"/><pci busid="0005:00:00.0" class="0x010802"/></cpu></system>)");
    ASSERT_EQ(host.devices.size(), 3u);
    EXPECT_EQ(host.devices[0].kind, DeviceKind::gpu);
    EXPECT_EQ(host.devices[1].kind, DeviceKind::nic);
    EXPECT_EQ(host.devices[2].kind, DeviceKind::gpu);
}

TEST(NcclXml, ReadsTheDialectOfRccl) {
    for (const auto& [gcn, model, bandwidth_GBps] : {std::tuple("908", "gfx908", 24.),
                                                     {"910", "gfx90a", 36.},
                                                     {"gfx942:sramecc+", "gfx942", 48.}}) {
        const Host host = host_of(with(
            R"(<system version="2"><cpu numaid="0">
<pci busid="0000:01:00.0" class="0x038000"><gpu dev="0" sm="120" gcn="G"><xgmi target="0000:02:00.0" count="1" tclass="0x038000"/></gpu></pci>
<pci busid="0000:02:00.0" class="0x038000"><gpu dev="1" sm="120"/></pci></cpu></system>)",
            "G\"", std::string(gcn) + "\""));
        EXPECT_EQ(host.devices[0].model, model);
        EXPECT_EQ(host.devices[0].compute_capability, 0);
        EXPECT_EQ(host.links,
                  (std::vector<Link>{{LinkKind::xgmi, device(0), device(1), 1, bandwidth_GBps}}));
    }
}

TEST(NcclXml, DistinguishesHostsWhereTheirFilesWereFused) {
    const Machine machine = parse_machine(R"(<system version="2">
<cpu host_hash="0x1" numaid="0" affinity="1"/><cpu host_hash="0x2" numaid="0" affinity="3"/></system>)",
                                          "FILE");
    ASSERT_EQ(machine.hosts.size(), 2u);
    EXPECT_EQ(machine.hosts[1].cores.size(), 2u);
}

TEST(NcclXml, ComplainsWithTheLine) {
    const struct {
        const char *from, *to, *complaint;
    } faults[] = {
        {R"(busid="0000:02:00.0")", "", "FILE:4: <pci> lacks busid="},
        {R"(busid="0000:02:00.0")", R"(busid="two")", "FILE:4: busid='two'"},
        {R"(busid="0000:03:00.0")", R"(busid="0000:02:00.0")", "FILE:9: the busid 0000:02:00.0"},
        {R"(count="2")", R"(count="many")", "FILE:6: count='many'"},
        {R"(count="2")", "", "FILE:6: <nvlink> lacks count="},
        {R"(count="2")", R"(count="9223372036854775808")", "FILE:6: count="},
        {R"(target="0000:03:00.0")", R"(target="x")", "FILE:6: target='x'"},
        {R"(numaid="1")", R"(numaid="0")", "FILE:14: numaid 0"},
        {R"(class="0x020700")", R"(class="nic")", "FILE:11: class='nic'"},
        {R"(sm="90")", R"(sm="nine")", "FILE:5: sm='nine'"},
        {R"(name="mlx5_0")", "", "FILE:12: <net> lacks name="},
        {R"(affinity="00000001,0000000f")", R"(affinity="1-3")", "FILE:2: '1-3'"},
        {"</system>", "", "FILE:"},
        {"</gpu></pci>", "</pci>", "FILE:"},
    };
    for (const auto& fault : faults) {
        const std::string complaint = complaint_about(with(two_gpus, fault.from, fault.to));
        EXPECT_TRUE(complaint.starts_with(fault.complaint)) << complaint;
        EXPECT_TRUE(names_a_line(complaint)) << complaint;
    }
    EXPECT_TRUE(names_a_line(complaint_about("<system version=\"1\"/>")));
}

TEST(NcclXml, ComesBackAsItWasWritten) {
    const Host host = host_of(two_gpus);
    EXPECT_EQ(host_of(to_nccl_xml(host)), host);
}

TEST(NcclExport, WritesWhatNcclWrites) {
    const std::string xml = to_nccl_xml(host_of(two_gpus));
    for (
        const char* part :
        {R"(<system version="1">)",
         R"(<cpu numaid="0" affinity="00000001,0000000f" arch="x86_64" vendor="GenuineIntel" familyid="6" modelid="143">)",
         R"(subsystem_vendor="0x1000" subsystem_device="0x0072" link_speed="32.0 GT/s PCIe" link_width="16">)",
         R"(<gpu dev="0" sm="90">)",
         R"(<nvlink target="0000:03:00.0" count="2" tclass="0x030200"/>)",
         R"(<nvlink target="0000:02:00.0" count="2" tclass="0x030200"/>)",
         R"(<nvlink target="0000:0a:00.0" count="3" tclass="0x068000"/>)",
         R"(<net name="mlx5_0" dev="0" speed="200000" port="1"/>)"})
        EXPECT_NE(xml.find(part), std::string::npos) << part << " is not in\n" << xml;
}

TEST(NcclExport, NamesProcessorsAsNcclKnowsThem) {
    Host host = host_of(two_gpus);
    const struct {
        CpuIdentity cpu;
        const char* written;
    } cases[] = {{{"aarch64", "", 0, 0}, R"(arch="arm64">)"},
                 {{"ppc64le", "", 0, 0}, R"(arch="ppc64">)"},
                 {{"x86_64", "AuthenticAMD", 25, 1},
                  R"(arch="x86_64" vendor="AuthenticAMD" familyid="25" modelid="1">)"}};
    for (const auto& [cpu, written] : cases) {
        host.cpu = cpu;
        EXPECT_NE(to_nccl_xml(host).find(written), std::string::npos) << written;
        EXPECT_EQ(host_of(to_nccl_xml(host)), host);
    }
    host.cpu = {"aarch64", "ARM", 8, 3};  // NCCL does not read them
    EXPECT_NE(to_nccl_xml(host).find(R"(arch="arm64">)"), std::string::npos);
}

TEST(NcclExport, NamesSwitchesWithoutAddressAsTheCloudsDo) {
    Host host = host_of(two_gpus);
    host.pcie_switches[0].pci_address.clear();
    EXPECT_NE(to_nccl_xml(host).find(R"(busid="ffff:ff:01.0")"), std::string::npos);
}

TEST(NcclExport, EscapesWhatXmlWouldTakeForItsOwn) {
    Host host = host_of(two_gpus);
    host.devices[2].ports[0].name = host.devices[2].names[0] = "a\"<&>";
    EXPECT_EQ(host_of(to_nccl_xml(host)), host);
}

TEST(NcclExport, RefusesGpusWithoutAddress) {
    Host host = host_of(two_gpus);
    host.devices[0].pci_address.clear();
    EXPECT_THROW(to_nccl_xml(host), Error);
}

}  // namespace
}  // namespace tutti
