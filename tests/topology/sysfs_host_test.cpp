// SPDX-License-Identifier: Apache-2.0
#include "topology/detect/sysfs_host.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>

#include "tests/topology/pci_files.hpp"
#include "topology/detect/detect.hpp"
#include "topology/detect/host_facts.hpp"

namespace tutti {
namespace {

const std::string cpus = "sys/devices/system/cpu/";
const std::string node_folders = "sys/devices/system/node/";

// Two packages of two cores, two threads each; packages alternate in the kernel's numbering, as
// many firmwares do. CPU n and n+4 share a core; even cores are in package 0.
void write_two_packages(const FixtureTree& tree) {
    tree.write("proc/cpuinfo", "processor : 0\nmodel name : Example 3000");
    tree.write(cpus + "online", "0-7");
    for (int cpu = 0; cpu < 8; ++cpu) {
        const std::string folder = cpus + "cpu" + std::to_string(cpu) + "/";
        const int first = cpu % 4;
        const std::string core = std::to_string(first) + "," + std::to_string(first + 4);
        tree.write(folder + "topology/physical_package_id", std::to_string(cpu % 2));
        tree.write(folder + "topology/thread_siblings_list", core);
        tree.write(folder + "cache/index0/level", "1");
        tree.write(folder + "cache/index0/type", "Data");
        tree.write(folder + "cache/index0/size", "32K");
        tree.write(folder + "cache/index0/shared_cpu_list", core);
        tree.write(folder + "cache/index1/level", "3");
        tree.write(folder + "cache/index1/type", "Unified");
        tree.write(folder + "cache/index1/size", "16384K");
        tree.write(folder + "cache/index1/shared_cpu_list", cpu % 2 ? "1,3,5,7" : "0,2,4,6");
    }
    for (const std::string node : {"0", "1"}) {
        tree.write(node_folders + "node" + node + "/cpulist", node == "0" ? "0,2,4,6" : "1,3,5,7");
        tree.write(node_folders + "node" + node + "/meminfo",
                   "Node " + node + " MemTotal:    1024 kB");
    }
}

}  // namespace

TEST(SysfsHost, PutsTheCoresOfAPackageTogether) {
    const FixtureTree tree;
    write_two_packages(tree);
    const Host host = read_sysfs_host(tree.root());
    EXPECT_EQ(host.cores, (std::vector<Core>{{{0, 4}}, {{2, 6}}, {{1, 5}}, {{3, 7}}}));
    EXPECT_EQ(host.packages,
              (std::vector<Package>{{"Example 3000", {0, 1}}, {"Example 3000", {2, 3}}}));
}

TEST(SysfsHost, ReadsMemoryAndEachCacheOnce) {
    const FixtureTree tree;
    write_two_packages(tree);
    const Host host = read_sysfs_host(tree.root());
    EXPECT_EQ(host.numa_nodes,
              (std::vector<NumaNode>{{0, Bytes{1 << 20}, {0, 1}}, {1, Bytes{1 << 20}, {2, 3}}}));
    EXPECT_EQ(host.caches.size(), 4u + 2u);
    const Cache last_level{3, CacheKind::unified, Bytes{16 << 20}, {2, 3}};
    EXPECT_NE(std::ranges::find(host.caches, last_level), host.caches.end());
}

TEST(SysfsHost, ReadsEachCorePackageAndSharedCacheOnce) {
    const FixtureTree tree;
    write_two_packages(tree);
    for (const int first : {0, 1})
        tree.write(cpus + "cpu" + std::to_string(first) + "/topology/core_siblings_list",
                   first == 0 ? "0,2,4,6" : "1,3,5,7");
    const Host host = read_sysfs_host(tree.root());
    for (const std::string repeated :
         {"cpu4", "cpu5", "cpu6", "cpu7", "cpu2/topology/physical_package_id",
          "cpu3/topology/physical_package_id", "cpu2/cache/index1", "cpu3/cache/index1"})
        std::filesystem::remove_all(tree.root() / (cpus + repeated));
    EXPECT_EQ(read_sysfs_host(tree.root()), host);
}

TEST(SysfsHost, ReadsThePrivateCachesOfTwoLikeCores) {
    const FixtureTree tree;
    write_two_packages(tree);
    const Cache first{1, CacheKind::data, Bytes{32 << 10}, {0}};
    const Host host = read_sysfs_cores(tree.root());
    EXPECT_EQ(host.cores, read_sysfs_host(tree.root()).cores);
    ASSERT_EQ(host.caches.size(), 2u + 2u);
    EXPECT_EQ(host.caches.front(), first);
}

TEST(SysfsHost, ReadsAllCachesIfTheFirstAndTheLastCoreDiffer) {
    const auto caches_with = [](const std::string& file, const std::string& content) {
        const FixtureTree tree;
        write_two_packages(tree);
        if (content.empty())
            std::filesystem::remove_all(tree.root() / (cpus + file));
        else
            tree.write(cpus + file, content);
        return read_sysfs_cores(tree.root()).caches.size();
    };
    EXPECT_EQ(caches_with("cpu3/cache/index0/size", "64K"), 4u + 2u);
    EXPECT_EQ(caches_with("cpu3/cache/index0/level", "2"), 4u + 2u);
    EXPECT_EQ(caches_with("cpu3/cache/index0/shared_cpu_list", "3"), 4u + 2u);
    EXPECT_EQ(caches_with("cpu0/cache", ""), 3u + 2u);
    EXPECT_EQ(caches_with("cpu3/cache/index1", ""), 4u + 2u);
}

TEST(SysfsHost, ReadsCachesWhoseListsLackTheCpu) {
    const FixtureTree tree;
    write_two_packages(tree);
    tree.write(cpus + "cpu2/cache/index0/shared_cpu_list", "6");
    EXPECT_EQ(read_sysfs_host(tree.root()).caches.size(), 4u + 2u);
}

TEST(SysfsHost, ReadsTheLastCachesOfAllCoresThoughTheyArePrivate) {
    const FixtureTree tree;
    write_two_packages(tree);
    for (const std::string cpu : {"0", "1", "2", "3", "4", "5", "6", "7"})
        std::filesystem::remove_all(tree.root() / (cpus + "cpu" + cpu + "/cache/index1"));
    EXPECT_EQ(read_sysfs_cores(tree.root()).caches.size(), 4u);
}

TEST(SysfsHost, LeavesOutCpusThatAreOffLine) {
    const FixtureTree tree;
    write_two_packages(tree);
    tree.write(cpus + "online", "0-5,7");
    const Host host = read_sysfs_host(tree.root());
    EXPECT_EQ(host.cores.size(), 4u);
    EXPECT_EQ(host.cores[1], Core{{2}});
}

TEST(SysfsHost, CountsProcessorsWhereSysIsEmpty) {
    const FixtureTree tree;
    tree.write("proc/cpuinfo", "processor\t: 0\nmodel name\t: X\n\nprocessor\t: 1\n");
    tree.write("proc/meminfo", "MemTotal:  2048 kB");
    const Host host = read_sysfs_host(tree.root());
    EXPECT_EQ(host.cores, (std::vector<Core>{{{0}}, {{1}}}));
    EXPECT_EQ(host.packages, (std::vector<Package>{{"X", {0, 1}}}));
    EXPECT_EQ(host.numa_nodes, (std::vector<NumaNode>{{0, Bytes{2 << 20}, {0, 1}}}));
}

TEST(SysfsHost, CountsMemoryThatWasPluggedInToTheOnlyNode) {
    const FixtureTree tree;
    write_two_packages(tree);
    tree.write("proc/meminfo", "MemTotal:  4096 kB");
    EXPECT_EQ(detect_host_in(tree.root()).numa_nodes[0].memory,
              Bytes{1 << 20});  // unclear to which node it belongs
    std::filesystem::remove_all(tree.root() / (node_folders + "node1"));
    EXPECT_EQ(detect_host_in(tree.root()).numa_nodes[0].memory, Bytes{4 << 20});
}

TEST(SysfsHost, KnowsNoMemoryThatNoMachineHas) {
    const FixtureTree tree;
    write_two_packages(tree);
    for (const char* file : {"proc/meminfo", "sys/devices/system/node/node1/meminfo"})
        tree.write(file, "MemTotal: 9223372036854775807 kB\nNode 1 MemTotal: 1125899906842624 kB");
    EXPECT_EQ(host_facts(tree.root()).memory, Bytes{0});
    EXPECT_EQ(read_sysfs_host(tree.root()).numa_nodes[1].memory, Bytes{0});
}

TEST(SysfsHost, FindsGpusAndNicsAndWhereTheyAre) {
    const FixtureTree tree;
    write_two_packages(tree);
    write_device(tree, {"0000:00:01.0", "0x060000", "0x8086", "0x0d57", "-1"});  // a bridge
    write_device(tree,
                 {"0000:00:02.0", "0x030000", "0x1a03", "0x2000", "0"});  // a pure display adapter
    write_device(tree, {"0000:17:00.0", "0x030200", "0x10de", "0x2335", "1"});
    const std::string nic =
        write_device(tree, {"0000:18:00.0", "0x020700", "0x15b3", "0x1021", "-1"});
    tree.make_folder(nic + "net/ib0");
    tree.make_folder(nic + "infiniband/mlx5_0");
    const std::vector<Device> devices = read_sysfs_host(tree.root()).devices;
    ASSERT_EQ(devices.size(), 2u);
    EXPECT_EQ(devices[0].kind, DeviceKind::gpu);
    EXPECT_EQ(devices[0].pci_id, "10de:2335");
    EXPECT_EQ(devices[0].numa_node, std::optional(1));
    EXPECT_EQ(devices[1].kind, DeviceKind::nic);
    EXPECT_EQ(devices[1].pci_address, "0000:18:00.0");
    EXPECT_EQ(devices[1].names, (std::vector<std::string>{"ib0", "mlx5_0"}));
    EXPECT_EQ(devices[1].numa_node, std::nullopt);
}

TEST(SysfsHost, PlacesEachDeviceNearTheOnlyNode) {
    const FixtureTree tree;
    const std::string nic =
        write_device(tree, {"0000:00:03.0", "0x020000", "0x1af4", "0x1041", "-1"});
    tree.make_folder(nic + "virtio2/net/eth0");
    const std::vector<Device> devices = read_sysfs_host(tree.root()).devices;
    ASSERT_EQ(devices.size(), 1u);
    EXPECT_EQ(devices[0].names, std::vector<std::string>{"eth0"});
    EXPECT_EQ(devices[0].numa_node, std::optional(0));
}

TEST(SysfsHost, KnowsWhichProcessorItHas) {
    const FixtureTree tree;
    tree.write("proc/cpuinfo",
               "vendor_id : AuthenticAMD\ncpu family : 25\nmodel : 17\nmodel name : X");
    EXPECT_EQ(read_cpu_identity(tree.root()), (CpuIdentity{"x86_64", "AuthenticAMD", 25, 17}));
    tree.write("proc/cpuinfo", "CPU implementer : 0x41\nCPU architecture: 8\nCPU part : 0xd4f");
    EXPECT_EQ(read_cpu_identity(tree.root()), (CpuIdentity{"aarch64", "0x41", 8, 0xd4f}));
    tree.write("proc/cpuinfo", "cpu : POWER9, altivec supported");
    EXPECT_EQ(read_cpu_identity(tree.root()), (CpuIdentity{"ppc64le", "IBM", 9, 0}));
    tree.write("proc/cpuinfo", "");
    EXPECT_EQ(read_cpu_identity(tree.root()), CpuIdentity{});
}

TEST(HostFacts, ComeFromTheSameFiles) {
    const FixtureTree tree;
    write_two_packages(tree);
    tree.write("proc/meminfo", "MemTotal:  2048 kB");
    tree.write("proc/loadavg", "1.25 0.5 0.1 1/100 4242");
    tree.write("proc/sys/kernel/random/boot_id", "0123");
    tree.write(cpus + "cpu0/cpufreq/scaling_governor", "performance");
    const HostFacts facts = host_facts(tree.root());
    EXPECT_EQ(facts.cpu_model, "Example 3000");
    EXPECT_EQ(facts.sockets, 2);
    EXPECT_EQ(facts.cores, 4);
    EXPECT_EQ(facts.smt, 2);
    EXPECT_EQ(facts.governor, "performance");
    EXPECT_EQ(facts.memory, Bytes{2 << 20});
    EXPECT_EQ(facts.boot_id, "0123");
    EXPECT_DOUBLE_EQ(facts.loadavg1, 1.25);
}

TEST(HostFacts, TurboComesFromEitherDriver) {
    struct Case {
        const char *file, *content, *turbo;
    };
    for (const Case& each :
         {Case{"intel_pstate/no_turbo", "0", "on"}, Case{"intel_pstate/no_turbo", "1", "off"},
          Case{"cpufreq/boost", "1", "on"}, Case{"cpufreq/boost", "0", "off"}}) {
        const FixtureTree tree;
        tree.write(cpus + each.file, each.content);
        EXPECT_EQ(host_facts(tree.root()).turbo, each.turbo) << each.file << " " << each.content;
    }
}

// A container with eight cores and the time of one and a half.
TEST(HostFacts, OfAContainerHaveItsQuota) {
    const FixtureTree tree;
    tree.write("proc/self/cgroup", "0::/\n");
    tree.write("sys/fs/cgroup/cpu.max", "150000 100000");
    const HostFacts facts = host_facts(tree.root());
    EXPECT_EQ(facts.cpu_quota, 1.5);
    EXPECT_EQ(facts.usable_cores, 1);
}

TEST(HostFacts, UnknownOnesAreEmpty) {
    const FixtureTree tree;
    const HostFacts facts = host_facts(tree.root());
    EXPECT_EQ(facts.cpu_model, "");
    EXPECT_EQ(facts.turbo, "");
    EXPECT_EQ(facts.cores, 0);
    EXPECT_EQ(facts.smt, 0);
    EXPECT_EQ(facts.memory, Bytes{0});
    EXPECT_EQ(facts.cpu_quota, std::nullopt);
    EXPECT_EQ(facts.usable_cores, 1);
}

}  // namespace tutti
