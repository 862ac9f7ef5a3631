// SPDX-License-Identifier: Apache-2.0
// Machines in files that people have, each with a sibling of the same kind.
#include <gtest/gtest.h>

#include <optional>

#include "tests/topology/fixture_tree.hpp"
#include "tests/topology/import/parsing.hpp"
#include "tests/topology/shared_data.hpp"
#include "topology/detect/detect.hpp"
#include "topology/detect/sysfs_host.hpp"
#include "topology/routes/nccl_export.hpp"
#include "topology/routes/paths.hpp"
#include "topology/routes/rings.hpp"

namespace tutti {
namespace {

std::optional<Machine> case_named(const std::string& file) {
    const auto path = shared_file("data/cases/topo/" + file);
    return path ? std::optional(read_machine(*path)) : std::nullopt;
}

Machine back(const Machine& machine) { return parse_machine(to_json(machine), "FILE"); }

std::optional<int> node(int number) { return number; }

PathType path_between(const Host& host, const std::string& a, const std::string& b) {
    const HostGraph graph = graph_of(host);
    const auto at_name = [&](const std::string& name) {
        return static_cast<std::size_t>(std::ranges::find(graph.nodes, name, &GraphNode::name) -
                                        graph.nodes.begin());
    };
    return paths_of(graph).at(at_name(a)).at(at_name(b)).type;
}

/// hwloc's objects below a Machine of two packages with two CPUs each; `first` and `second` are
/// further objects in the packages.
Host two_packages(const std::string& first, const std::string& second = "") {
    const auto package = [](int number, const std::string& more) {
        std::string text = R"(<object type="Package" os_index="N" cpuset="C" nodeset="0x33">
<object type="NUMANode" os_index="N" cpuset="C" nodeset="S" local_memory="1024"/>
<object type="Core" cpuset="C"><object type="PU" os_index="N" cpuset="C"/></object>)" +
                           more + "</object>";
        for (const auto& [from, to] : {std::pair("\"N\"", number ? "\"1\"" : "\"0\""),
                                       {"\"C\"", number ? "\"2\"" : "\"1\""},
                                       {"\"S\"", number ? "\"0x2\"" : "\"0x1\""}})
            while (text.find(from) != std::string::npos) text = with(text, from, to);
        return text;
    };
    return host_of(
        R"(<topology version="2.0"><object type="Machine" cpuset="0x3" nodeset="0x33">)" +
        package(0, first) + package(1, second) + "</object></topology>");
}

std::string bridge(const std::string& inside) {
    return R"(<object type="Bridge" bridge_type="0-1" depth="0">)" + inside + "</object>";
}

std::string pci_device(const std::string& address, const std::string& type,
                       const std::string& inside = "") {
    return R"(<object type="PCIDev" pci_busid=")" + address + R"(" pci_type=")" + type + "\">" +
           inside + "</object>";
}

std::string os_device(const std::string& name) {
    return R"(<object type="OSDev" osdev_type="1" name=")" + name + "\"/>";
}

Host nccl_host(const std::string& cpus) {
    return host_of("<system version=\"1\">" + cpus + "</system>");
}

}  // namespace

TEST(OddFiles, MemoryOnlyNodesKeepTheirKindAndTakeNoCpus) {
    for (const char* file : {"gh200_gpu_memory_nodes.xml", "hbm_flat_mode.xml"}) {
        const auto machine = case_named(file);
        if (!machine) GTEST_SKIP() << "no shared/data/cases next to the checkout";
        const Host& host = machine->hosts.at(0);
        ASSERT_EQ(host.numa_nodes.size(), 4u) << file;
        for (const NumaNode& one : host.numa_nodes)
            EXPECT_EQ(one.cores.empty(), one.os_index > 1) << file << one.os_index;
        const bool is_hbm = std::string(file).starts_with("hbm");
        EXPECT_EQ(host.numa_nodes[1].kind, is_hbm ? "HBM" : "GPUMemory");
        EXPECT_EQ(graph_of(host).cpus.size(), 2u);
        EXPECT_EQ(back(*machine), *machine);
    }
    const Host gh200 = case_named("gh200_gpu_memory_nodes.xml")->hosts.at(0);
    EXPECT_EQ(gh200.devices.at(0).numa_node, node(0));
    EXPECT_EQ(gh200.devices.at(2).numa_node, node(1));
    EXPECT_EQ(path_between(gh200, "GPU0", "mlx5_0"), PathType::phb);
    EXPECT_LE(plan_rings({.hosts = {gh200}, .network = {}}).found.bandwidth_GBps, 16);
}

TEST(OddFiles, CxlMemoryThatComesFirstTakesNoCpus) {
    const Host host = two_packages(
        R"(<object type="NUMANode" subtype="CXL-DRAM" os_index="4" cpuset="0x3" nodeset="0x10" local_memory="64"/>)" +
        bridge(pci_device("0000:01:00.0", "0302 [10de:2330] [10de:0001] a1")));
    ASSERT_EQ(host.numa_nodes.size(), 3u);
    EXPECT_EQ(host.numa_nodes[0].cores, CoreSet{0});
    EXPECT_EQ(host.numa_nodes[1], (NumaNode{4, Bytes{64}, {}, "CXL-DRAM"}));
    EXPECT_EQ(host.numa_nodes[2].cores, CoreSet{1});
    EXPECT_NE(print_tree(host).find("CXL-DRAM"), std::string::npos);
}

TEST(OddFiles, MemoryWithoutASubtypeLosesItsCpusToTheLowerNumber) {
    const Host host = two_packages(
        R"(<object type="NUMANode" os_index="5" cpuset="0x1" nodeset="0x20" local_memory="64"/>)");
    EXPECT_EQ(host.numa_nodes.at(0).cores, CoreSet{0});
    EXPECT_EQ(host.numa_nodes.at(1).cores, CoreSet{});
}

TEST(OddFiles, HbmWithoutOtherMemoryKeepsItsCpus) {
    const Host host = host_of(
        R"(<topology version="2.0"><object type="Machine"><object type="NUMANode" subtype="HBM" os_index="0" cpuset="0x1" nodeset="0x1" local_memory="64"/>
<object type="Core"><object type="PU" os_index="0"/></object></object></topology>)");
    EXPECT_EQ(host.numa_nodes.at(0), (NumaNode{0, Bytes{64}, {0}, "HBM"}));
}

TEST(OddFiles, NumaNodesHaveTheirCoresWithoutPackages) {
    const std::string text =
        R"(<topology version="2.0"><object type="Machine"><info name="CPUModel" value="Model A"/>
<object type="Group" cpuset="0x1" nodeset="0x1"><object type="NUMANode" os_index="0" cpuset="0x1" nodeset="0x1"/><object type="Core"><object type="PU" os_index="0"/></object></object>
<object type="Group" cpuset="0x2" nodeset="0x2"><object type="NUMANode" os_index="1" cpuset="0x2" nodeset="0x2"/><object type="Core"><object type="PU" os_index="1"/></object></object>
</object></topology>)";
    const Host host = host_of(text);
    EXPECT_TRUE(host.packages.empty());
    EXPECT_EQ(host.numa_nodes.at(1).cores, CoreSet{1});
    EXPECT_TRUE(notes(host, "Model A"));
    EXPECT_EQ(print_tree(host).find("package"), print_tree(host).find("packages of Model A"));
}

TEST(OddFiles, GpusHaveTheNumbersOfNvml) {
    const auto machine = case_named("gpu_numbers_against_nvml.xml");
    if (!machine) GTEST_SKIP() << "no shared/data/cases next to the checkout";
    const Host& host = machine->hosts.at(0);
    EXPECT_EQ(host.devices.at(0).pci_address, "0000:03:00.0");
    EXPECT_EQ(host.devices.at(0).numa_node, node(1));
    EXPECT_EQ(host.devices.at(1).names, std::vector<std::string>{"nvml1"});
}

TEST(OddFiles, GpusHaveTheNumbersOfRocmOrElseTheOrderOfAddresses) {
    const std::string amd = "0380 [1002:740c] [1002:0b0c] 01";
    const Host numbered = two_packages(bridge(pci_device("0000:05:00.0", amd, os_device("rsmi1"))),
                                       bridge(pci_device("0000:07:00.0", amd, os_device("rsmi0"))));
    EXPECT_EQ(numbered.devices.at(0).pci_address, "0000:07:00.0");
    const Host unnumbered = two_packages(bridge(pci_device("0000:c5:00.0", amd)),
                                         bridge(pci_device("0000:c1:00.0", amd)));
    EXPECT_EQ(unnumbered.devices.at(0).pci_address, "0000:c1:00.0");
}

TEST(OddFiles, GpusOfNcclHaveTheNumbersOfDevOrRankOrAddress) {
    const auto first_of = [](const char* a, const char* b) {
        const Host host = nccl_host(
            R"(<cpu numaid="0" affinity="3"><pci busid="0000:10:00.0" class="0x030200"><gpu )" +
            std::string(a) +
            R"( sm="80"><nvlink target="fffffff:ffff:ff" count="1" tclass="0x068000"/></gpu></pci>
<pci busid="0000:09:00.0" class="0x030200"><gpu )" +
            b + R"( sm="80"/></pci></cpu>)");
        EXPECT_EQ(host_of(to_nccl_xml(host)).devices, host.devices);
        EXPECT_EQ(host.devices.at(as_size(host.links.at(0).a.index)).pci_address, "0000:10:00.0");
        return host.devices.at(0).pci_address;
    };
    EXPECT_EQ(first_of("dev=\"1\"", "dev=\"0\""), "0000:09:00.0");
    EXPECT_EQ(first_of("dev=\"0\"", "dev=\"1\""), "0000:10:00.0");
    EXPECT_EQ(first_of("rank=\"0\"", "rank=\"1\""), "0000:10:00.0");
    EXPECT_EQ(first_of("", ""), "0000:09:00.0");
}

TEST(OddFiles, AMemorySideCacheIsNoL1) {
    const auto machine = case_named("memcache_hbm_cache_mode.xml");
    if (!machine) GTEST_SKIP() << "no shared/data/cases next to the checkout";
    const Host& host = machine->hosts.at(0);
    ASSERT_EQ(host.caches.size(), 1u);
    EXPECT_EQ(host.caches[0].kind, CacheKind::memory_side);
    EXPECT_EQ(host.caches[0].size, Bytes{16LL << 30});
    EXPECT_EQ(short_name(host.caches[0]), "memory-side cache");
    EXPECT_EQ(back(*machine), *machine);
}

TEST(OddFiles, AcceleratorsThatAreNoGpusAreNamed) {
    if (const auto machine = case_named("fpga_is_no_gpu.xml")) {
        EXPECT_TRUE(machine->hosts.at(0).devices.empty());
        EXPECT_TRUE(notes(machine->hosts.at(0), "8086:0b2b"));
    }
    for (const char* id : {"8086:643e", "1da3:1020", "19e5:d802"}) {
        const Host host = two_packages(
            bridge(pci_device("0000:05:00.0", "1200 [" + std::string(id) + "] [0000:0000] 00")));
        EXPECT_TRUE(host.devices.empty()) << id;
        EXPECT_TRUE(notes(host, id));
    }
    const Host nccl = nccl_host(
        R"(<cpu numaid="0" affinity="1"><pci busid="0000:05:00.0" class="0x120000" vendor="0x1da3" device="0x1020"/></cpu>)");
    EXPECT_TRUE(nccl.devices.empty());
    EXPECT_TRUE(notes(nccl, "1da3:1020"));
}

TEST(OddFiles, IntelGpusComeBackFromNcclXml) {
    const auto machine = case_named("intel_gpu_max.xml");
    if (!machine) GTEST_SKIP() << "no shared/data/cases next to the checkout";
    const Host& host = machine->hosts.at(0);
    ASSERT_EQ(host.devices.size(), 2u);
    EXPECT_EQ(host_of(to_nccl_xml(host)).devices, host.devices);
}

TEST(OddFiles, HostsOfOneFabricReachEachOtherByNvlink) {
    const auto machine = case_named("mnnvl_two_trays.xml");
    if (!machine) GTEST_SKIP() << "no shared/data/cases next to the checkout";
    ASSERT_EQ(machine->hosts.size(), 2u);
    EXPECT_NE(machine->hosts[0].name, machine->hosts[1].name);
    EXPECT_EQ(back(*machine), *machine);
    const HostGraph graph = graph_of_fabric(machine->hosts);
    const PathTable paths = paths_of(graph);
    const Path& across = paths.at(as_size(graph.gpus.at(0))).at(as_size(graph.gpus.at(3)));
    EXPECT_EQ(across.type, PathType::nvl);
    EXPECT_NEAR(across.bandwidth_GBps, 721.8, 0.01);
    EXPECT_NEAR(plan_rings(*machine).found.bandwidth_GBps, 721.8, 0.01);
    EXPECT_NE(print_tree(*machine).find("NVLink fabric of host0, host1"), std::string::npos);
}

TEST(OddFiles, HostsWithVisibleNvswitchesAreNoFabric) {
    const auto cpu = [](const std::string& hash) {
        return R"(<cpu numaid="0" affinity="1" host_hash=")" + hash +
               R"("><pci busid="0000:10:00.0" class="0x030200"><gpu dev="0" sm="90"><nvlink target="0000:0a:00.0" count="18" tclass="0x068000"/></gpu></pci></cpu>)";
    };
    const Machine machine =
        parse_machine("<system>" + cpu("0x1") + cpu("0x2") + "</system>", "FILE");
    ASSERT_EQ(machine.hosts.size(), 2u);
    EXPECT_EQ(shared_fabric(machine), "");
    EXPECT_EQ(machine.hosts[1].name, "host1");
}

TEST(OddFiles, AGpuThatLostItsNvlinksKeepsItsC2c) {
    const auto machine = case_named("gb300_lost_gpu_two_trays.xml");
    if (!machine) GTEST_SKIP() << "no shared/data/cases next to the checkout";
    const std::string tree = print_tree(machine->hosts.at(1));
    EXPECT_NE(tree.find("GPU1 no NVLink to"), std::string::npos);
    EXPECT_NE(tree.find("GPU1 5 C2C links"), std::string::npos);
    EXPECT_GT(plan_rings(*machine).found.bandwidth_GBps, 12);
}

TEST(OddFiles, C2cLinksNeedNoNumberOfANumaNode) {
    const std::string gpu =
        R"(<pci busid="0009:01:00.0" class="0x030200"><gpu dev="0" sm="90"><c2c bw="26562" count="10"/></gpu></pci></cpu>)";
    if (const auto machine = case_named("c2c_numaid_minus_one.xml")) {
        EXPECT_EQ(machine->hosts.at(0).links.size(), 2u);
        EXPECT_NEAR(machine->hosts.at(0).links.at(0).bandwidth_GBps, 265.62, 0.01);
    }
    const Host two = nccl_host(R"(<cpu numaid="-1" affinity="1">)" + gpu +
                               R"(<cpu numaid="-1" affinity="2"></cpu>)");
    EXPECT_TRUE(two.links.empty());
    EXPECT_TRUE(notes(two, "C2C links of 0009:01:00.0"));
}

TEST(OddFiles, NetsThatAreNotForCollectivesAreShownOnly) {
    const auto machine = case_named("net_not_for_collectives.xml");
    if (!machine) GTEST_SKIP() << "no shared/data/cases next to the checkout";
    const Host& host = machine->hosts.at(0);
    EXPECT_EQ(graph_of(host).ports.size(), 1u);
    EXPECT_NE(print_tree(host).find("mlx5_1 400 Gb/s (not for"), std::string::npos);
    EXPECT_EQ(host_of(to_nccl_xml(host)).devices, host.devices);
    EXPECT_EQ(back(*machine), *machine);
}

TEST(OddFiles, NetsCountIfTheFileHasNoNumbersOfThem) {
    const Host host = nccl_host(
        R"(<cpu numaid="0" affinity="1"><nic><net name="a" speed="1000"/><net name="b" speed="1000"/></nic></cpu>)");
    EXPECT_EQ(graph_of(host).ports.size(), 2u);
}

TEST(OddFiles, ANicOfSeveralCpusIsOne) {
    if (const auto machine = case_named("one_nic_under_each_cpu.xml")) {
        const Host& host = machine->hosts.at(0);
        EXPECT_EQ(std::ranges::count(host.devices, DeviceKind::nic, &Device::kind), 1);
        EXPECT_EQ(path_between(host, "GPU0", "eth0"), PathType::phb);
        EXPECT_EQ(path_between(host, "GPU1", "eth0"), PathType::phb);
    }
    const std::string nic =
        R"(<pci busid="0000:05:00.0" class="0x020000"><nic><net name="mlx5_0" dev="0" speed="1000"/></nic></pci></cpu>)";
    const Host on_pci = nccl_host(R"(<cpu numaid="0" affinity="1">)" + nic +
                                  R"(<cpu numaid="1" affinity="2">)" + nic);
    ASSERT_EQ(on_pci.devices.size(), 1u);
    EXPECT_EQ(on_pci.devices[0].numa_node, std::nullopt);
}

TEST(OddFiles, AnImpossibleSpeedIsDoubted) {
    if (const auto machine = case_named("nic_of_200_terabit.xml")) {
        EXPECT_TRUE(notes(machine->hosts.at(0), "200 Gb/s may be meant"));
        EXPECT_EQ(back(*machine), *machine);
    }
    const Host fast = nccl_host(
        R"(<cpu numaid="0" affinity="1"><pci busid="0000:05:00.0" class="0x030200" link_speed="3200 GT/s" link_width="16"><gpu dev="0" sm="90"><c2c bw="900000" count="20"/></gpu></pci>
<nic><net name="a" dev="0" speed="1600000"/></nic></cpu>)");
    EXPECT_TRUE(notes(fast, "true speed of GPU0: 3200 GT/s"));
    EXPECT_TRUE(notes(fast, "a link of GPU0"));
    EXPECT_FALSE(notes(fast, "network port"));
}

TEST(OddFiles, SwitchesMayHaveADirectLink) {
    const auto machine = case_named("pcilink.xml");
    if (!machine) GTEST_SKIP() << "no shared/data/cases next to the checkout";
    const Host& host = machine->hosts.at(0);
    EXPECT_EQ(host.switch_links, (std::vector<SwitchLink>{{0, 1}}));
    EXPECT_EQ(path_between(host, "GPU0", "GPU1"), PathType::pxb);
    EXPECT_NE(print_tree(host).find("linked directly"), std::string::npos);
    EXPECT_EQ(host_of(to_nccl_xml(host)).switch_links, host.switch_links);
    EXPECT_EQ(back(*machine), *machine);
}

TEST(OddFiles, AnEndOfAPcilinkThatIsMissingIsNoted) {
    const Host host = nccl_host(
        R"(<cpu numaid="0" affinity="1"><pci busid="0000:05:00.0" class="0x060400"><pcilink target="0000:06:00.0"/><pci busid="0000:07:00.0" class="0x030200"/></pci></cpu>)");
    EXPECT_TRUE(host.switch_links.empty());
    EXPECT_TRUE(notes(host, "pcilink"));
}

TEST(OddFiles, RowsNextToAGpuAreItsLinks) {
    const auto gpu = [](const std::string& address, const std::string& peer,
                        const std::string& own) {
        return "<pci busid=\"" + address + "\" class=\"0x030200\">" + own + "<nvlink target=\"" +
               peer + "\" count=\"4\" tclass=\"0x030200\"/></pci>";
    };
    for (const char* own : {"<gpu sm=\"80\"/>", ""}) {
        const Host host = nccl_host("<cpu numaid=\"0\" affinity=\"1\">" +
                                    gpu("0000:01:00.0", "0000:02:00.0", own) +
                                    gpu("0000:02:00.0", "0000:01:00.0", own) + "</cpu>");
        ASSERT_EQ(host.links.size(), 1u);
        EXPECT_EQ(host.links[0].count, 4);
    }
}

TEST(OddFiles, ASwitchThatIsListedTwiceIsOne) {
    const auto machine = case_named("nccl_same_busid_twice.xml");
    if (!machine) GTEST_SKIP() << "no shared/data/cases next to the checkout";
    const Host& host = machine->hosts.at(0);
    EXPECT_EQ(host.pcie_switches.size(), 2u);
    EXPECT_EQ(host.devices.at(0).above, host.devices.at(1).above);
    EXPECT_NE(
        complaint_about(
            R"(<system><cpu numaid="0"><pci busid="0000:01:00.0" class="0x030200"/><pci busid="0000:01:00.0" class="0x030200"/></cpu></system>)"),
        "");
}

TEST(OddFiles, CoresAreReadFromMasksWithoutLists) {
    const auto root = shared_file("data/cases/topo/sysfs_masks_without_lists");
    if (!root) GTEST_SKIP() << "no shared/data/cases next to the checkout";
    const Host host = detect_host_in(*root);
    EXPECT_EQ(host.cores, (std::vector<Core>{{{0, 1}}, {{2, 3}}}));
    EXPECT_EQ(host.numa_nodes.at(1).cores, CoreSet{1});
    EXPECT_NE(complaint_about(""), "");
    try {
        read_machine(*root);
        FAIL() << "a folder was read";
    } catch (const Error& error) {
        EXPECT_NE(std::string(error.what()).find("--root"), std::string::npos);
    }
}

TEST(OddFiles, CachesAreReadFromMasksWithoutLists) {
    FixtureTree tree;
    tree.write("sys/devices/system/cpu/online", "0-1");
    for (const char* cpu : {"cpu0", "cpu1"}) {
        const std::string cache = "sys/devices/system/cpu/" + std::string(cpu) + "/cache/index0/";
        tree.write(cache + "level", "3");
        tree.write(cache + "size", "1024K");
        tree.write(cache + "shared_cpu_map", "00000000,00000003");
    }
    const Host host = read_sysfs_host(tree.root());
    ASSERT_EQ(host.caches.size(), 1u);
    EXPECT_EQ(host.caches[0].cores, (CoreSet{0, 1}));
}

TEST(OddFiles, SurviveFiveHundredDamagesEach) {
    const auto folder = shared_file("data/cases/topo");
    if (!folder) GTEST_SKIP() << "no shared/data/cases next to the checkout";
    constexpr std::string_view wrong = "\"<>0f-{[,";
    for (const auto& entry : std::filesystem::directory_iterator(*folder)) {
        const auto type = entry.path().extension();
        if (type != ".xml" && type != ".json") continue;
        const std::string text = content_of(entry.path());
        for (std::size_t i = 0; i < 500; ++i) {
            std::string damaged = text;
            damaged[i * 7919 % text.size()] = wrong[i % wrong.size()];
            try {
                const Machine machine = parse_machine(damaged, "FILE");
                print_tree(machine);
                for (const Host& host : machine.hosts) paths_of(graph_of(host));
                if (!shared_fabric(machine).empty()) paths_of(graph_of_fabric(machine.hosts));
                EXPECT_EQ(back(machine), machine) << entry.path() << i;
            } catch (const Error& error) {
                EXPECT_TRUE(names_a_line(error.what())) << entry.path() << i << error.what();
            }
        }
    }
}

}  // namespace tutti
