// SPDX-License-Identifier: Apache-2.0
// Differences between the versions of hwloc.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "tests/topology/import/parsing.hpp"

namespace tutti {
namespace {

struct Link2 {
    const char* pci_id;
    const char* version;  // hwloc's version; empty: unknown
    int megabytes;
};

// Two GPUs with links only to each other.
Host two_gpus(const Link2& link) {
    const std::string info =
        *link.version ? fmt::format(R"(<info name="hwlocVersion" value="{}"/>)", link.version) : "";
    return host_of(fmt::format(R"(<topology version="2.0">
 <object type="Machine" cpuset="0x1" nodeset="0x1">{0}
  <object type="NUMANode" os_index="0" cpuset="0x1" nodeset="0x1"/>
  <object type="PU" os_index="0" cpuset="0x1"/>
  <object type="Bridge" bridge_type="0-1">
   <object type="PCIDev" pci_busid="0000:01:00.0" pci_type="0302 [{1}] [10de:1463] a1">
    <object type="OSDev" gp_index="7" name="nvml0" osdev_type="5"/></object>
   <object type="PCIDev" pci_busid="0000:02:00.0" pci_type="0302 [{1}] [10de:1463] a1">
    <object type="OSDev" gp_index="8" name="nvml1" osdev_type="5"/></object>
  </object></object>
 <distances2hetero nbobjs="2" name="NVLinkBandwidth"><indexes>OSDev:7 OSDev:8</indexes>
  <u64values>1000000 {2} {2} 1000000</u64values></distances2hetero>
</topology>)",
                               info, link.pci_id, link.megabytes));
}

int links_counted(const Link2& link) { return two_gpus(link).links.at(0).count; }

constexpr const char *p100 = "10de:15f9", *v100 = "10de:1db1", *a100 = "10de:20b0",
                     *h200 = "10de:2335", *b200 = "10de:2901";

// Only hwloc 2.9.0 wrote 50 GB/s for each NVLink 3 and 4 (topology-nvml.c of its releases).
TEST(HwlocVersions, CountTheLinksOfAmpereAndHopperByDirectionsSince291) {
    for (const char* version : {"2.9.1", "2.9.3", "2.10.0", "2.12.2", "3.0.0a1-git"}) {
        EXPECT_EQ(links_counted({h200, version, 150000}), 6) << version;
        EXPECT_EQ(links_counted({a100, version, 100000}), 4) << version;
    }
    EXPECT_EQ(links_counted({h200, "2.9.0", 300000}), 6);
    EXPECT_EQ(links_counted({a100, "2.9.0", 200000}), 4);
    EXPECT_NEAR(two_gpus({h200, "2.10.0", 150000}).links.at(0).bandwidth_GBps, 6 * 20.6, 1e-9);
}

TEST(HwlocVersions, CountTheOtherGenerationsAlikeInAll) {
    for (const char* version : {"", "2.9.0", "2.12.0"}) {
        EXPECT_EQ(links_counted({p100, version, 80000}), 4) << version;
        EXPECT_EQ(links_counted({v100, version, 150000}), 6) << version;
        EXPECT_EQ(links_counted({b200, version, 900000}), 18) << version;
    }
}

TEST(HwlocVersions, GiveWayToNumbersThatContradictThem) {
    EXPECT_EQ(links_counted({h200, "2.9.0", 125000}), 5);    // fixed by a distribution
    EXPECT_EQ(links_counted({h200, "2.10.0", 900000}), 18);  // no H200 has 36 links
    EXPECT_EQ(links_counted({a100, "", 600000}), 12);
}

TEST(HwlocVersions, AreTakenForNewWhereTheFileDoesNotSay) {
    EXPECT_EQ(links_counted({h200, "", 150000}), 6);
    EXPECT_EQ(links_counted({h200, "PR-436-20201209", 150000}), 6);
}

// hwloc 3 writes infos of the machine next to the objects, kinds of interfaces as bits, the
// programming interface after the revision, and domains of 32 bits.
const std::string third = R"(<topology version="3.0">
 <object type="Machine" cpuset="0x3" nodeset="0x1" gp_index="1">
  <object type="Package" cpuset="0x3" nodeset="0x1" gp_index="2">
   <info name="CPUVendor" value="AuthenticAMD"/><info name="CPUFamilyNumber" value="25"/>
   <object type="NUMANode" os_index="0" cpuset="0x3" nodeset="0x1" local_memory="4096"/>
   <object type="L1Cache" cpuset="0x1" cache_size="32" depth="1" cache_type="1">
    <object type="Core" cpuset="0x1"><object type="PU" os_index="0"/></object></object>
   <object type="Core" cpuset="0x2"><object type="PU" os_index="1"/></object>
   <object type="Bridge" bridge_type="0-1" depth="0" bridge_pci="00000000:[01-05]">
    <object type="PCIDev" gp_index="3" pci_busid="0000:01:00.0" pci_type="0302 [10de:2335] [10de:18be] a1 00">
     <object type="OSDev" gp_index="4" name="nvml0" osdev_type="12"><info name="GPUModel" value="NVIDIA H200"/></object></object>
    <object type="PCIDev" gp_index="5" pci_busid="0000:02:00.0" pci_type="0302 [10de:2335] [10de:18be] a1 00">
     <object type="OSDev" gp_index="6" name="nvml1" osdev_type="12"/></object>
    <object type="PCIDev" pci_busid="0000:03:00.0" pci_type="0207 [15b3:1021] [15b3:0041] 00 00">
     <object type="OSDev" name="ib0" osdev_type="16"/>
     <object type="OSDev" name="mlx5_0" osdev_type="48"/></object>
    <object type="PCIDev" pci_busid="0000:04:00.0" pci_type="0207 [119f:0001] [119f:0001] 00 00">
     <object type="OSDev" name="bxi0" osdev_type="16"/></object>
    <object type="PCIDev" pci_busid="0000:05:00.0" pci_type="0108 [144d:a808] [144d:a801] 00 02">
     <object type="OSDev" name="nvme0n1" osdev_type="1"/></object>
   </object></object></object>
 <distances2hetero nbobjs="2" kind="517" name="NVLinkBandwidth"><indexes length="14">OSDev:4 OSDev:6</indexes>
  <u64values length="28">1000000 150000 150000 1000000</u64values></distances2hetero>
 <cpukind cpuset="0x3"/>
 <info name="HostName" value="node3"/><info name="Architecture" value="x86_64"/>
 <info name="hwlocVersion" value="3.0.0"/><info name="Backend" value="NVML"/>
 <pci_locality domain="0x0" bus_min="0x1" bus_max="0x5" cpuset="0x3"/>
</topology>)";

TEST(HwlocVersions, AreReadUpToTheThird) {
    const Host host = host_of(third);
    EXPECT_EQ(host.name, "node3");
    EXPECT_EQ(host.cpu.architecture, "x86_64");
    EXPECT_EQ(host.cpu.family, 25);
    EXPECT_EQ(host.cores.size(), 2u);
    ASSERT_EQ(host.devices.size(), 4u);
    EXPECT_EQ(host.devices[0].model, "NVIDIA H200");
    EXPECT_EQ(host.devices[0].names, std::vector<std::string>{"nvml0"});
    EXPECT_EQ(host.devices[2].names, (std::vector<std::string>{"ib0", "mlx5_0"}));
    EXPECT_EQ(host.devices[2].ports, (std::vector<Port>{{"mlx5_0", 0}}));
    EXPECT_EQ(host.devices[3].ports, (std::vector<Port>{{"bxi0", 0}}));
    ASSERT_EQ(host.links.size(), 1u);
    EXPECT_EQ(host.links[0].count, 6);
}

TEST(HwlocVersions, BeyondTheThirdAreRefused) {
    EXPECT_TRUE(complaint_about(R"(<topology version="4.0"/>)").starts_with("FILE:1: "));
}

}  // namespace
}  // namespace tutti
