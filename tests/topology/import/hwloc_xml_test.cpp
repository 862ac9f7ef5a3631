// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/topology/import/parsing.hpp"

namespace tutti {
namespace {

// One package, two NUMA nodes with a core of two threads each. Under the first one's host bridge a
// root port, a switch (up, down) and two devices; under the second's a GPU at a root port.
const std::string two_nodes = R"(<topology version="2.0">
 <object type="Machine" cpuset="0xf" nodeset="0x3" gp_index="1">
  <info name="HostName" value="node7"/><info name="Architecture" value="x86_64"/>
  <object type="Package" cpuset="0xf" nodeset="0x3" gp_index="2">
   <info name="CPUVendor" value="GenuineIntel"/><info name="CPUFamilyNumber" value="6"/>
   <info name="CPUModelNumber" value="143"/><info name="CPUModel" value="Model A   "/>
   <object type="Group" cpuset="0x5" nodeset="0x1">
    <object type="NUMANode" os_index="0" cpuset="0x5" nodeset="0x1" local_memory="4096"/>
    <object type="L3Cache" cpuset="0x5" cache_size="1024" depth="3" cache_type="0">
     <object type="L1iCache" cpuset="0x5" cache_size="64" depth="1" cache_type="2">
      <object type="Core" cpuset="0x5"><object type="PU" os_index="0"/><object type="PU" os_index="2"/></object>
     </object></object>
    <object type="Bridge" bridge_type="0-1" depth="0">
     <object type="Bridge" bridge_type="1-1" pci_busid="0000:00:01.0" pci_type="0604 [8086:2030] [8086:0000] 04">
      <object type="Bridge" bridge_type="1-1" pci_busid="0000:01:00.0" pci_type="0604 [10b5:8725] [10b5:0001] 00" pci_link_speed="15.753846">
       <object type="Bridge" bridge_type="1-1" pci_busid="0000:02:01.0" pci_type="0604 [10b5:8725] [10b5:0001] 00">
        <object type="PCIDev" gp_index="10" pci_busid="0000:03:00.0" pci_type="0302 [10de:1db1] [10de:1212] a1" pci_link_speed="4.000000">
         <object type="OSDev" gp_index="11" name="card0" osdev_type="1"/>
         <object type="OSDev" gp_index="12" name="nvml0" osdev_type="5"><info name="GPUModel" value="V100"/></object>
        </object></object>
       <object type="Bridge" bridge_type="1-1" pci_busid="0000:02:02.0" pci_type="0604 [10b5:8725] [10b5:0001] 00">
        <object type="PCIDev" gp_index="13" pci_busid="0000:04:00.0" pci_type="0207 [15b3:1019] [15b3:0001] 00" pci_link_speed="31.507692">
         <object type="OSDev" name="ib0" osdev_type="2"/>
         <object type="OSDev" name="mlx5_0" osdev_type="3"><info name="Port1State" value="4"/><info name="Port2State" value="1"/></object>
        </object></object>
       <object type="Bridge" bridge_type="1-1" pci_busid="0000:02:03.0" pci_type="0604 [10b5:8725] [10b5:0001] 00">
        <object type="Bridge" bridge_type="1-1" pci_busid="0000:05:00.0" pci_type="0604 [10b5:8725] [10b5:0001] 00"/></object>
      </object></object></object>
   </object>
   <object type="Group" cpuset="0xa" nodeset="0x2">
    <object type="NUMANode" os_index="1" cpuset="0xa" nodeset="0x2" local_memory="8192"/>
    <object type="Core" cpuset="0xa"><object type="PU" os_index="1"/><object type="PU" os_index="3"/></object>
    <object type="Bridge" bridge_type="0-1" depth="0">
     <object type="Bridge" bridge_type="1-1" pci_busid="0000:80:01.0" pci_type="0604 [8086:2030] [8086:0000] 04">
      <object type="PCIDev" gp_index="20" pci_busid="0000:81:00.0" pci_type="0302 [10de:1db1] [10de:1212] a1">
       <object type="OSDev" gp_index="21" name="nvml1" osdev_type="5"/></object>
      <object type="PCIDev" pci_busid="0000:82:00.0" pci_type="0300 [1a03:2000] [1a03:2000] 41"/>
     </object></object>
   </object>
  </object>
 </object>
 <distances2hetero nbobjs="3" name="NVLinkBandwidth">
  <indexes>OSDev:12 OSDev:21 </indexes><indexes>Package:2</indexes>
  <u64values>0 50000 75000 50000 0 </u64values><u64values>0 75000 0 0</u64values>
 </distances2hetero>
</topology>
)";

TEST(HwlocXml, GivesCoresNodesAndCachesInTheOrderOfTheFile) {
    const Host host = host_of(two_nodes);
    EXPECT_EQ(host.name, "node7");
    EXPECT_EQ(host.cpu, (CpuIdentity{"x86_64", "GenuineIntel", 6, 143}));
    EXPECT_EQ(host.packages, (std::vector<Package>{{"Model A", {0, 1}}}));
    EXPECT_EQ(host.cores, (std::vector<Core>{{{0, 2}}, {{1, 3}}}));
    EXPECT_EQ(host.numa_nodes,
              (std::vector<NumaNode>{{0, Bytes{4096}, {0}}, {1, Bytes{8192}, {1}}}));
    EXPECT_EQ(host.caches, (std::vector<Cache>{{3, CacheKind::unified, Bytes{1024}, {0}},
                                               {1, CacheKind::instruction, Bytes{64}, {0}}}));
}

TEST(HwlocXml, KeepsASwitchByItsUpstreamPortAndDropsUnusedOnes) {
    const Host host = host_of(two_nodes);
    ASSERT_EQ(host.pcie_switches.size(), 1u);
    EXPECT_EQ(host.pcie_switches[0], (PcieSwitch{.pci_address = "0000:01:00.0",
                                                 .pci_id = "10b5:8725",
                                                 .numa_node = 0,
                                                 .link = {8, 16},
                                                 .subsystem_id = "10b5:0001"}));
}

TEST(HwlocXml, GivesDevicesWithNamesPortsAndPlace) {
    const Host host = host_of(two_nodes);
    ASSERT_EQ(host.devices.size(), 3u);  // without the display adapter
    EXPECT_EQ(host.devices[0], (Device{.kind = DeviceKind::gpu,
                                       .pci_address = "0000:03:00.0",
                                       .pci_id = "10de:1db1",
                                       .names = {"nvml0"},
                                       .numa_node = 0,
                                       .above = 0,
                                       .link = {2.5, 16},
                                       .model = "V100",
                                       .compute_capability = 70}));
    EXPECT_EQ(host.devices[1], (Device{.kind = DeviceKind::nic,
                                       .pci_address = "0000:04:00.0",
                                       .pci_id = "15b3:1019",
                                       .names = {"ib0", "mlx5_0"},
                                       .numa_node = 0,
                                       .above = 0,
                                       .link = {16, 16},
                                       .ports = {{"mlx5_0", 0}, {"mlx5_0:2", 0}}}));
    EXPECT_EQ(host.devices[2].numa_node, 1);
    EXPECT_EQ(host.devices[2].above, std::nullopt);
}

// hwloc writes 25 GB/s for each NVLink 2 of a V100; 20 of them are for data.
TEST(HwlocXml, CountsNvlinksInTheBandwidthMatrix) {
    const Host host = host_of(two_nodes);
    const LinkEnd first{LinkEnd::Kind::device, 0}, second{LinkEnd::Kind::device, 2};
    EXPECT_EQ(host.links,
              (std::vector<Link>{{LinkKind::nvlink, first, second, 2, 40},
                                 {LinkKind::nvlink, first, {LinkEnd::Kind::numa_node, 0}, 3, 60}}));
}

TEST(HwlocXml, NotesThatSpeedsAreCurrentOnes) {
    const Host host = host_of(two_nodes);
    EXPECT_TRUE(notes(host, "maximum PCIe speeds"));
}

// hwloc 1 has sockets, NUMA nodes that contain cores, and one type for all caches.
TEST(HwlocXml, ReadsTheFirstVersion) {
    const Host host = host_of(R"(<topology>
 <object type="Machine" cpuset="0x3" nodeset="0x5">
  <object type="Socket" cpuset="0x3"><info name="CPUModel" value="Old"/>
   <object type="NUMANode" os_index="0" cpuset="0x1" nodeset="0x1" local_memory="10">
    <object type="Cache" cpuset="0x1" depth="2" cache_size="512" cache_type="0">
     <object type="Cache" cpuset="0x1" depth="1" cache_size="32" cache_type="1">
      <object type="Core" cpuset="0x1"><object type="PU" os_index="0" cpuset="0x1"/></object></object></object>
   </object>
   <object type="NUMANode" os_index="2" cpuset="0x2" nodeset="0x4" local_memory="20">
    <object type="PU" os_index="1" cpuset="0x2"/>
    <object type="Bridge" bridge_type="0-1">
     <object type="PCIDev" pci_busid="0000:81:00.0" pci_type="0300 [1002:6863] [1002:6b76] 00"/></object>
   </object>
  </object>
 </object>
</topology>)");
    EXPECT_EQ(host.packages, (std::vector<Package>{{"Old", {0, 1}}}));
    EXPECT_EQ(host.cores, (std::vector<Core>{{{0}}, {{1}}}));
    EXPECT_EQ(host.numa_nodes, (std::vector<NumaNode>{{0, Bytes{10}, {0}}, {2, Bytes{20}, {1}}}));
    EXPECT_EQ(host.caches, (std::vector<Cache>{{2, CacheKind::unified, Bytes{512}, {0}},
                                               {1, CacheKind::data, Bytes{32}, {0}}}));
    ASSERT_EQ(host.devices.size(), 1u);
    EXPECT_EQ(host.devices[0].numa_node, 2);
}

TEST(HwlocXml, MakesOneNodeOfAllMemoryIfThereIsNone) {
    const Host host = host_of(R"(<topology><object type="Machine" cpuset="0x1" local_memory="99">
        <object type="PU" os_index="0"/></object></topology>)");
    EXPECT_EQ(host.numa_nodes, (std::vector<NumaNode>{{0, Bytes{99}, {0}}}));
    EXPECT_EQ(host.packages, (std::vector<Package>{{"", {0}}}));
}

TEST(HwlocXml, JoinsAmdGpusByTheirXgmiMatrix) {
    std::string text = with(two_nodes, "[10de:1db1] [10de:1212]", "[1002:7408] [1002:0b0c]");
    text = with(text, R"(<distances2hetero nbobjs="3" name="NVLinkBandwidth">)",
                R"(<distances2 type="OSDev" nbobjs="2" name="XGMIBandwidth" indexing="gp">)");
    text = with(text, "<indexes>OSDev:12 OSDev:21 </indexes><indexes>Package:2</indexes>",
                "<indexes>12 21</indexes>");
    text = with(text, "0 50000 75000 50000 0 </u64values><u64values>0 75000 0 0",
                "1000000 100000 100000 1000000");
    text = with(text, "</distances2hetero>", "</distances2>");
    const Host host = host_of(text);
    ASSERT_EQ(host.links.size(), 1u);
    EXPECT_EQ(host.links[0].kind, LinkKind::xgmi);
    EXPECT_EQ(host.links[0].bandwidth_GBps, 36);
}

TEST(HwlocXml, RecognisesAnNvswitchThatIsOff) {
    const Host host = host_of(with(with(two_nodes, R"("PCIDev" gp_index="13")",
                                        R"("PCIDev" gp_index="13" subtype="NVSwitch")"),
                                   "0207 [15b3:1019] [15b3:0001]", "0000 [0000:0000] [0000:0000]"));
    EXPECT_EQ(host.devices.at(1).kind, DeviceKind::nvswitch);
}

// Found by the fuzzer: the package's nodeset had a missing node, and a link led to it.
TEST(HwlocXml, IgnoresNumaNodesThatTheFileDoesNotDescribe) {
    const Host host =
        host_of(with(two_nodes, R"("NUMANode" os_index="0")", R"("NUMANode" os_index="9")"));
    EXPECT_EQ(host.devices[0].numa_node, std::nullopt);
    EXPECT_EQ(host.devices[2].numa_node, 1);
    EXPECT_EQ(host.links.size(), 1u);
}

TEST(HwlocXml, ComplainsWithTheLine) {
    const struct {
        const char *from, *to, *complaint;
    } faults[] = {
        {R"(cpuset="0x5" nodeset="0x1" local)", R"(cpuset="0xg" nodeset="0x1" local)",
         "FILE:8: '0xg'"},
        {R"(local_memory="4096")", R"(local_memory="lots")", "FILE:8: local_memory='lots'"},
        {R"(local_memory="4096")", R"(local_memory="99999999999999999999")",
         "FILE:8: local_memory"},
        {R"(<object type="PU" os_index="2"/>)", R"(<object type="PU" os_index="0"/>)",
         "FILE:11: PU 0"},
        {R"(<object type="PU" os_index="2"/>)", R"(<object type="PU"/>)",
         "FILE:11: <object> lacks os_index="},
        {"0302 [10de:1db1]", "0302 10de", "FILE:17: pci_type="},
        {R"(pci_busid="0000:03:00.0")", R"(pci_busid="slot 3")", "FILE:17: pci_busid='slot 3'"},
        {R"(pci_link_speed="4.000000")", R"(pci_link_speed="fast")", "FILE:17: pci_link_speed"},
        {"0 75000 0 0<", "0 75000 0<", "FILE:42: 'NVLinkBandwidth'"},
        {R"(version="2.0")", R"(version="4.0")", "FILE:1: hwloc XML has"},
        {R"(type="Machine")", R"(type="Misc")", "FILE:1: the file has"},
        {"</topology>", "", "FILE:"},
    };
    for (const auto& fault : faults) {
        const std::string complaint = complaint_about(with(two_nodes, fault.from, fault.to));
        EXPECT_TRUE(complaint.starts_with(fault.complaint)) << fault.to << ": " << complaint;
        EXPECT_TRUE(names_a_line(complaint)) << complaint;
    }
}

}  // namespace
}  // namespace tutti
