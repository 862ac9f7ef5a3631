// SPDX-License-Identifier: Apache-2.0
// Matrices as people paste them: from terminals, logs, web pages and several hosts.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "base/index.hpp"
#include "base/source.hpp"
#include "tests/topology/import/parsing.hpp"
#include "tests/topology/shared_data.hpp"

namespace tutti {
namespace {

// NUMA nodes of the GPUs as text: "0 0 1 -".
std::string gpu_nodes(const Host& host) {
    std::string nodes;
    for (const Device& device : host.devices)
        if (device.kind == DeviceKind::gpu)
            nodes += (nodes.empty() ? "" : " ") +
                     (device.numa_node ? std::to_string(*device.numa_node) : "-");
    return nodes;
}

// CPUs of a NUMA node.
std::vector<int> cpus_at(const Host& host, int node) {
    std::vector<int> cpus;
    for (const NumaNode& each : host.numa_nodes)
        for (const int core : each.cores)
            if (each.os_index == node) cpus.push_back(at(host.cores, core).threads.at(0));
    return cpus;
}

int number_of(const Host& host, DeviceKind kind) {
    return static_cast<int>(std::ranges::count(host.devices, kind, &Device::kind));
}

int sum_of_links(const Host& host, LinkKind kind) {
    int sum = 0;
    for (const Link& link : host.links) sum += link.kind == kind ? link.count : 0;
    return sum;
}

std::string host_names(const Machine& machine) {
    std::string names;
    for (const Host& host : machine.hosts) names += (names.empty() ? "" : " ") + host.name;
    return names;
}

struct PastedCase {
    const char* file;
    const char* hosts;
    const char* gpu_nodes;  // for the first host
    int nics;
    int nvlinks;
    int cores;
};

constexpr PastedCase pasted_cases[] = {
    {"all_cpu_cells_empty.txt", "", "0 1", 0, 0, 0},
    {"cells_glued_in_rows.txt", "", "0 0 0 0 1 1 1 1", 12, 8 * 18, 112},
    {"container_no_affinity.txt", "", "- -", 8, 12, 0},
    {"esc_lost.txt", "", "0 0", 0, 4, 32},
    {"header_glued_at_terminal_edge.txt", "", "0 0 0 0 1 1 1 1", 12, 8 * 18, 112},
    {"interleaved_cores_cut.txt", "", "0 0 1 1", 2, 4 * 18, 11},
    {"interleaved_cores_cut_in_range.txt", "", "0 0 1 1", 2, 4 * 18, 32},
    {"markdown_quote.txt", "", "0 0", 0, 0, 64},
    {"p2p_matrix_alone.txt", "", "- -", 0, 0, 0},
    {"prompt_and_timestamps.txt", "", "0 0", 0, 0, 64},
    {"rank_prefix_mpirun_tag.txt", "", "0 0", 0, 0, 64},
    {"rocm_smi_showtopo.txt", "", "0 0 1 1", 0, 0, 0},
    {"amd_smi_topology.txt", "", "- -", 0, 0, 0},
    {"slurm_cgroup_cpu_cell_empty_blanks.txt", "", "0 0 0 0 1 1 1 1", 1, 4 * 12, 32},
    {"slurm_cgroup_cpu_cell_empty_tabs.txt", "", "0 0 0 0 1 1 1 1", 1, 4 * 12, 32},
    {"slurm_label.txt", "", "0 0", 0, 0, 64},
    {"two_matrices_two_hosts.txt", "node1 node2", "0 0", 0, 0, 64},
    {"utf16.txt", "", "0 0", 0, 0, 64},
};

TEST(PastedMatrices, OfPublicReportsAreRead) {
    const auto folder = shared_file("data/cases/topo");
    if (!folder) GTEST_SKIP() << "no shared/data/cases/topo next to the checkout";
    for (const PastedCase& expected : pasted_cases) {
        SCOPED_TRACE(expected.file);
        const Machine machine = read_machine(*folder / expected.file);
        const Host& host = machine.hosts.at(0);
        EXPECT_EQ(host_names(machine), expected.hosts);
        EXPECT_EQ(gpu_nodes(host), expected.gpu_nodes);
        EXPECT_EQ(number_of(host, DeviceKind::nic), expected.nics);
        EXPECT_EQ(sum_of_links(host, LinkKind::nvlink), expected.nvlinks);
        EXPECT_EQ(std::ssize(host.cores), expected.cores);
        EXPECT_EQ(notes(host, "cuts long lists"),
                  std::string_view(expected.file).find("_cut") != std::string_view::npos);
        EXPECT_EQ(parse_machine(to_json(machine), "FILE"), machine);
    }
    EXPECT_EQ(read_machine(*folder / "p2p_matrix_alone.txt").hosts[0].no_peer_access,
              (std::vector<NoPeerAccess>{{0, 1}}));
    EXPECT_EQ(
        sum_of_links(read_machine(*folder / "rocm_smi_showtopo.txt").hosts[0], LinkKind::xgmi), 6);
    const Host amd = read_machine(*folder / "amd_smi_topology.txt").hosts[0];
    EXPECT_EQ(sum_of_links(amd, LinkKind::xgmi), 1);
    EXPECT_EQ(amd.devices.at(1).pci_address, "0000:22:00.0");
    try {
        read_machine(*folder / "npu_smi_topo.txt");
        ADD_FAILURE() << "a matrix of NPUs was taken for one of GPUs";
    } catch (const Error& error) {
        EXPECT_NE(std::string(error.what()).find("Ascend"), std::string::npos) << error.what();
    }
}

const std::string tabs =
    "\tGPU0\tGPU1\tCPU Affinity\tNUMA Affinity\tGPU NUMA ID\n"
    "GPU0\t X \tSYS\t0-3\t0\t\tN/A\n"
    "GPU1\tSYS\t X \t4-7\t3\t\tN/A\n";

std::string with_each_line_after(const std::string& prefix, const std::string& text) {
    std::string lines;
    for (std::size_t start = 0; start < text.size();) {
        const std::size_t end = text.find('\n', start) + 1;
        lines += prefix + text.substr(start, end - start);
        start = end;
    }
    return lines;
}

// nvidia-smi writes the id of the GPU's own memory into the last column.
TEST(PastedMatrices, HaveEmptyCellsThatMoveNoValue) {
    EXPECT_EQ(gpu_nodes(host_of(with(with(tabs, "0-3\t0", "0-3\t"), "N/A", "9"))), "0 3");
    const Host no_cpus = host_of(with(with(tabs, "0-3\t0\t\tN/A", "\t0\t\t16"), "4-7", ""));
    EXPECT_EQ(gpu_nodes(no_cpus), "0 3");
    EXPECT_TRUE(no_cpus.cores.empty());
    const Host under_titles = host_of(
        "        GPU0    GPU1    CPU Affinity    NUMA Affinity   GPU NUMA ID\n"
        "GPU0     X      SYS                     2               N/A\n"
        "GPU1    SYS      X      4-7                             17\n");
    EXPECT_EQ(under_titles.devices[0].numa_node, 2);
    EXPECT_NE(under_titles.devices[1].numa_node, 17);
    EXPECT_EQ(cpus_at(under_titles, *under_titles.devices[1].numa_node), (std::vector{4, 5, 6, 7}));
    const Host tab_stops = host_of(
        "        GPU0    GPU1    CPU Affinity    NUMA Affinity   GPU NUMA ID\n"
        "GPU0     X      SYS             2               N/A\n"
        "GPU1    SYS      X      4-7     3               N/A\n");
    EXPECT_EQ(gpu_nodes(tab_stops), "2 3");
}

TEST(PastedMatrices, AreReadWithTheBlanksOfWebPages) {
    for (const char* blank : {"\xc2\xa0", "\xe2\x80\xaf", "\xa0", "\xe3\x80\x80"}) {
        std::string text;
        for (const char c :
             std::string("        GPU0    GPU1    CPU Affinity    NUMA Affinity   GPU NUMA ID\n"
                         "GPU0     X      SYS     0-3     0               N/A\n"
                         "GPU1    SYS      X      4-7     3               N/A\n"))
            text += c == ' ' ? std::string(blank) : std::string(1, c);
        EXPECT_EQ(host_of(text), host_of(tabs));
    }
}

TEST(PastedMatrices, AreReadWithTerminalCodesWrittenAsText) {
    for (const char* escape : {"\x1b", "", "^[", "\\x1b", "\\033", "\\u001b", "\\e"})
        EXPECT_EQ(host_of(with(with(tabs, "\tGPU0", fmt::format("\t{}[4mGPU0", escape)), "ID",
                               fmt::format("ID{}[0m", escape))),
                  host_of(tabs))
            << escape;
}

TEST(PastedMatrices, AreReadInUtf16OfEitherOrder) {
    for (const bool low_first : {true, false})
        for (const bool has_mark : {true, false}) {
            std::string text = has_mark ? low_first ? "\xff\xfe" : "\xfe\xff" : "";
            for (const char c : tabs)
                text += low_first ? std::string{c, '\0'} : std::string{'\0', c};
            EXPECT_EQ(host_of(text), host_of(tabs));
        }
}

TEST(PastedMatrices, AreReadAfterPrefixes) {
    for (const char* prefix :
         {"> ", ">", "> > ", "0: ", "[1,0]<stdout>:", "[0] ", "| ", "# ", "2025-07-14T12:00:00.5Z ",
          "[2025-07-14 12:00:00] ", "12:00:00 [default0]:", "[pod/a/main] ", "\xe2\x94\x82 "})
        EXPECT_EQ(host_of(with_each_line_after(prefix, tabs)).devices, host_of(tabs).devices)
            << prefix;
    // The time changes from line to line.
    std::string log;
    int second = 0;
    for (const std::string_view line : split(tabs, '\n'))
        log += fmt::format("Jul 14 12:00:{:02} [{}.5] {}\n", second++, second, line);
    EXPECT_EQ(host_of(log), host_of(tabs));
}

TEST(PastedMatrices, OfSeveralHostsBecomeSeveralHosts) {
    const std::string other = with(tabs, "SYS\t0-3", "NODE\t0-3");
    const std::string symmetric = with(other, "GPU1\tSYS", "GPU1\tNODE");
    const auto both = [&](const std::string& first, const std::string& second) {
        std::string mixed;  // line by line, as pdsh prints what arrives
        const std::string a = with_each_line_after(first, tabs),
                          b = with_each_line_after(second, symmetric);
        const auto lines = split(a, '\n'), others = split(b, '\n');
        for (std::size_t i = 0; i < lines.size(); ++i)
            mixed += fmt::format("{}\n{}\n", lines[i], others[i]);
        return parse_machine(mixed, "FILE");
    };
    EXPECT_EQ(host_names(both("node1: ", "node10: ")), "node1 node10");
    EXPECT_EQ(host_names(both("[1,0]<stdout>:", "[1,1]<stdout>:")), "rank 0 rank 1");
    EXPECT_EQ(host_names(both(" 0: ", "10: ")), "rank 0 rank 10");
    EXPECT_EQ(gpu_nodes(both("n1: ", "n2: ").hosts.at(1)), "0 3");
    EXPECT_EQ(host_names(parse_machine(with_each_line_after("n7: ", tabs), "FILE")), "n7");

    // Ranks of one host are one host if their prefixes say so and they print the same.
    for (const auto& [one, two] : {std::pair("n1: [0] ", "n1: [1] "),
                                   {"n1: 0:", "n1: 1:"},
                                   {"[1@1,0][n1:77]<stdout>:", "[1@1,1][n1:78]<stdout>:"}}) {
        const auto same = [&](const std::string& text) {
            return parse_machine(with_each_line_after(one, tabs) + with_each_line_after(two, text),
                                 "FILE");
        };
        EXPECT_EQ(host_names(same(tabs)), "n1") << one;
        EXPECT_EQ(host_names(same(with(tabs, "4-7", "4-6"))), "n1 n1-1") << one;
    }

    for (const auto& [title, name] : {std::pair("=== n2 ===", "n2"),
                                      {"--- n2", "n2"},
                                      {"n2:", "n2"},
                                      {"# n2", "n2"},
                                      {"[2] 12:00:01 [SUCCESS] n2", "n2"},
                                      {"n2 | CHANGED | rc=0 >>", "n2"},
                                      {"me@n2:~$ nvidia-smi topo -m", "n2"},
                                      {"[me@n2 ~]$ nvidia-smi topo -m", "n2"}}) {
        const Machine machine = parse_machine("=== n1\n" + tabs + title + "\n" + symmetric, "FILE");
        EXPECT_EQ(host_names(machine), fmt::format("n1 {}", name)) << title;
    }
    EXPECT_EQ(host_names(parse_machine(tabs + "\n" + symmetric, "FILE")), "host0 host1");
    EXPECT_EQ(host_names(parse_machine("=== a\n" + tabs + "=== a\n" + tabs, "FILE")), "a");
}

TEST(PastedMatrices, GiveEachHostTheModelsAndNicsOfItsOwnLines) {
    const std::string text =
        "=== a\nGPU 0: NVIDIA B200 (UUID: GPU-1)\n\tGPU0\tNIC0\nGPU0\t X \tPIX\nNIC0\tPIX\t X \n"
        "NIC Legend:\n  NIC0: mlx5_0\n"
        "=== b\nGPU 0: NVIDIA H200 (UUID: GPU-2)\n\tGPU0\tNIC0\nGPU0\t X \tPIX\nNIC0\tPIX\t X \n"
        "NIC Legend:\n  NIC0: mlx5_9\n";
    const Machine machine = parse_machine(text, "FILE");
    ASSERT_EQ(host_names(machine), "a b");
    EXPECT_EQ(machine.hosts[0].devices[0].model, "NVIDIA B200");
    EXPECT_EQ(machine.hosts[0].devices[1].names.at(0), "mlx5_0");
    EXPECT_EQ(machine.hosts[1].devices[0].model, "NVIDIA H200");
    EXPECT_EQ(machine.hosts[1].devices[1].names.at(0), "mlx5_9");
}

TEST(PastedMatrices, OfPeerAccessBelongToTheTopologyBeforeOrAfter) {
    const std::string p2p = "\tGPU0\tGPU1\t\nGPU0\tX\tCNS\t\nGPU1\tCNS\tX\t\n\nLegend:\n";
    const std::vector<NoPeerAccess> pair{{0, 1}};
    for (const std::string& text : {p2p + "\n" + tabs, tabs + "\n" + p2p}) {
        const Machine machine = parse_machine(text, "FILE");
        ASSERT_EQ(machine.hosts.size(), 1u);
        EXPECT_EQ(gpu_nodes(machine.hosts[0]), "0 3");
        EXPECT_EQ(machine.hosts[0].no_peer_access, pair);
    }
    const Machine two = parse_machine("=== a\n" + tabs + "=== b\n" + p2p + tabs, "FILE");
    ASSERT_EQ(host_names(two), "a b");
    EXPECT_TRUE(two.hosts[0].no_peer_access.empty());
    EXPECT_EQ(two.hosts[1].no_peer_access, pair);
    // NVLinks and atomic operations may be missing where memory can be reached.
    EXPECT_TRUE(host_of(tabs + "$ nvidia-smi topo -p2p n\n" + p2p).no_peer_access.empty());
    EXPECT_TRUE(host_of(with(with(p2p, "CNS", "OK"), "CNS", "OK")).no_peer_access.empty());
}

TEST(PastedMatrices, AreReadFromMarkdownTables) {
    const std::string header = "CPU Affinity | NUMA Affinity | GPU NUMA ID";
    const std::string framed =
        "It is:\n\n"
        "| Device | GPU0 | GPU1 | " +
        header +
        " |\n|:---|:--:|---|---|---|---:|\n"
        "| **GPU0** | X | SYS | 0-3 | 0 | N/A |\n| GPU1 | `SYS` | X | 4-7 | 3 | N/A |\n\nend\n";
    EXPECT_EQ(host_of(framed), host_of(tabs));
    EXPECT_EQ(host_of(with_each_line_after("> ", framed)), host_of(tabs));
    const std::string unframed = " | GPU0 | GPU1 | " + header +
                                 "\n---|---|---|---|---|---\n"
                                 "GPU0 | X | SYS | 0-3 | 0 | N/A\nGPU1 | SYS | X | 4-7 | 3 | N/A\n";
    EXPECT_EQ(host_of(unframed), host_of(tabs));
    const Host no_cpus = host_of(with(with(framed, "0-3", ""), "4-7", " "));
    EXPECT_EQ(gpu_nodes(no_cpus), "0 3");
    EXPECT_TRUE(no_cpus.cores.empty());
    EXPECT_TRUE(complaint_about(with(framed, "| X | SYS |", "| X |")).starts_with("FILE:5: "));
}

// A terminal of 40 columns wraps lines; those of the header, too.
TEST(PastedMatrices, AreReadIfTheTerminalWrappedThem) {
    std::string text = "        GPU0    GPU1    GPU2    GPU3    CPU Affinity    NUMA Affinity\n";
    for (int row = 0; row < 4; ++row) {
        text += fmt::format("GPU{}    ", row);
        for (int column = 0; column < 4; ++column)
            text += row == column ? " X      " : row / 2 == column / 2 ? "NV12    " : "SYS     ";
        text += fmt::format("{}-{}     {}\n", row / 2 * 4, row / 2 * 4 + 3, row / 2);
    }
    const Host whole = host_of(text);
    EXPECT_EQ(gpu_nodes(whole), "0 0 1 1");
    for (const std::size_t width : {30u, 40u, 46u, 56u}) {
        std::string wrapped;
        for (const std::string_view line : split(text, '\n'))
            for (std::size_t start = 0; start < std::max<std::size_t>(line.size(), 1);
                 start += width)
                wrapped += std::string(line.substr(start, width)) + "\n";
        EXPECT_EQ(host_of(wrapped), whole) << width << "\n" << wrapped;
    }
}

TEST(PastedMatrices, SayThatListsOfCpusAreCut) {
    const Host cut = host_of(with(tabs, "0-3\t0", "0-1,8-9,16-1\t0"));
    EXPECT_TRUE(notes(cut, "node 0: nvidia-smi cuts"));
    EXPECT_EQ(cpus_at(cut, 0), (std::vector{0, 1, 8, 9}));
    EXPECT_TRUE(notes(host_of(with(tabs, "4-7", "1,9,17,25,33")), "node 3: nvidia-smi cuts"));
    EXPECT_FALSE(notes(host_of(with(tabs, "0-3", "0-1,8-9,16-17")), "nvidia-smi cuts"));
}

const std::string of_pairs = " between two GPUs ====\n";
const std::string numa_node = ": (Topology) Numa Node:";
const std::string amd_tables =
    "==== Hops" + of_pairs +
    "       GPU0         GPU1         GPU2\nGPU0   0            1            2\n"
    "GPU1   1            0            1\nGPU2   2            1            0\n\n"
    "==== Link Type" +
    of_pairs +
    "       GPU0         GPU1         GPU2\nGPU0   0            XGMI         XGMI\n"
    "GPU1   XGMI         0            PCIE\nGPU2   XGMI         PCIE         0\n\n"
    "==== Numa Nodes ====\nGPU[0]\t\t" +
    numa_node + " 3\nGPU[2]\t\t" + numa_node + " 1\n";

TEST(AmdMatrices, GiveXgmiOfNeighboursAndNumaNodes) {
    const Host host = host_of(amd_tables);
    EXPECT_EQ(gpu_nodes(host), "3 - 1");
    ASSERT_EQ(host.links.size(), 1u);  // GPU0 and GPU2 are two hops apart
    EXPECT_EQ(host.links[0].kind, LinkKind::xgmi);
    EXPECT_EQ(host.links[0].a.index, 0);
    EXPECT_EQ(host.links[0].b.index, 1);
    EXPECT_EQ(host_names(parse_machine(with_each_line_after("n1: ", amd_tables) +
                                           with_each_line_after("n2: ", amd_tables),
                                       "FILE")),
              "n1 n2");
    EXPECT_EQ(host_names(parse_machine(amd_tables + amd_tables, "FILE")), "host0 host1");
}

TEST(AmdMatrices, TellWhichGpusCannotReachEachOther) {
    const Host host = host_of(
        "ACCESS TABLE:\n             0000:0c:00.0 0000:22:00.0\n"
        "0000:0c:00.0 ENABLED      DISABLED\n0000:22:00.0 DISABLED     ENABLED\n");
    EXPECT_EQ(host.no_peer_access, (std::vector<NoPeerAccess>{{0, 1}}));
    EXPECT_TRUE(notes(host, "link types"));
}

// GPU 0 and 2 are two hops apart; GPU 0 cannot reach the memory of GPU 1.
const std::string amd_smi_json = R"([
{"gpu": 0, "bdf": "0000:0c:00.0", "links": [
 {"gpu": 2, "link_type": "XGMI", "num_hops": 2, "link_status": "ENABLED", "bandwidth": "50000-100000"},
 {"gpu": 0, "link_type": "SELF", "num_hops": 0, "link_status": "ENABLED", "bandwidth": "N/A"},
 {"gpu": 1, "link_type": "XGMI", "num_hops": 1, "link_status": "DISABLED", "bandwidth": "N/A"}]},
{"gpu": 1, "bdf": "0000:22:00.0", "links": [{"gpu": 0, "link_type": "XGMI", "num_hops": 1}]},
{"gpu": 2, "bdf": "0001:38:00.0", "links": [{"gpu": 0, "link_type": "XGMI", "num_hops": 2}]}]
)";
const std::string old_amd_smi_json = R"([
{"gpu": 0, "link_accessibility": {"gpu_0": "ENABLED", "gpu_1": "DISABLED"},
 "hops": {"gpu_0": 0, "gpu_1": 1, "gpu_2": 2},
 "link_type": {"gpu_0": "SELF", "gpu_1": "XGMI", "gpu_2": "XGMI"}},
{"gpu": 1, "link_type": {"gpu_0": "XGMI"}},
{"gpu": 2, "hops": {"gpu_0": 2}, "link_type": {"gpu_0": "XGMI"}}])";
std::string drm_pair(const char* what, const char* pair, const char* value) {
    return fmt::format("\"(Topology) {} between {} devices {}\": \"{}\",\n", what, "DRM", pair,
                       value);
}

const std::string rocm_smi_json = R"({
"card2": {"(Topology) Numa Node": "1"}, "card0": {"(Topology) Numa Node": "3"}, "card1": {},
"system": {)" + drm_pair("Weight", "0 and 1", "15") +
                                  drm_pair("Link type", "0 and 1", "XGMI") +
                                  drm_pair("Link type", "0 and 2", "XGMI") +
                                  drm_pair("Link type", "1 and 2", "PCIE") +
                                  drm_pair("Hops", "0 and 2", "2") + "\"Other\": 0}}";

TEST(AmdMatrices, AreReadAsJson) {
    for (const std::string& text : {amd_smi_json, old_amd_smi_json, rocm_smi_json}) {
        const Host host = host_of(text);
        ASSERT_EQ(number_of(host, DeviceKind::gpu), 3) << text;
        ASSERT_EQ(host.links.size(), 1u) << text;
        EXPECT_EQ(host.links[0].kind, LinkKind::xgmi);
        EXPECT_EQ(host.links[0].b.index, 1);
        EXPECT_FALSE(notes(host, "link types"));
        EXPECT_EQ(host.no_peer_access.size(), text == rocm_smi_json ? 0u : 1u) << text;
    }
    EXPECT_EQ(host_of(amd_smi_json).devices[2].pci_address, "0001:38:00.0");
    EXPECT_EQ(host_of(old_amd_smi_json).devices[2].names, std::vector<std::string>{"GPU2"});
    EXPECT_EQ(gpu_nodes(host_of(rocm_smi_json)), "3 - 1");
    for (const auto& [from, to, line] : {std::tuple("\"gpu\": 1, \"bdf", "\"gpu\": 0, \"bdf", 6),
                                         {"{\"gpu\": 2, \"link", "{\"gpu\": 7, \"link", 3},
                                         {"XGMI", "FAR", 3},
                                         {"\"gpu\": 0", "\"gpu\": -1", 2}}) {
        const std::string complaint = complaint_about(with(amd_smi_json, from, to));
        EXPECT_TRUE(complaint.starts_with(fmt::format("FILE:{}: ", line))) << complaint;
    }
    EXPECT_TRUE(complaint_about(with(rocm_smi_json, "0 and 2", "0 and 5")).starts_with("FILE:5: "));
}

TEST(AmdMatrices, AreRefusedWithTheLineIfTheyAreIncomplete) {
    for (const auto& [from, to, line] : {std::tuple("GPU1   1 ", "GPU7   1 ", 4),
                                         {"2            1            0\n", "2\n", 5},
                                         {"XGMI         XGMI", "XGMI         FAR", 9}})
        EXPECT_TRUE(
            complaint_about(with(amd_tables, from, to)).starts_with(fmt::format("FILE:{}: ", line)))
            << complaint_about(with(amd_tables, from, to));
}

TEST(ForeignMatrices, AreNamed) {
    for (const auto& [text, name] :
         {std::pair("         GPU 0/0  GPU 0/1  CPU Affinity\nGPU 0/0  S  MDF  0-3\n", "Intel"),
          {"\tNPU0\tNPU1\nNPU0\tX\tHCCS\nNPU1\tHCCS\tX\n", "Ascend"},
          {"\tMLU0\tMLU1\nMLU0\tX\tMLD\nMLU1\tMLD\tX\n", "Cambricon"}}) {
        const std::string complaint = complaint_about(text);
        EXPECT_NE(complaint.find(name), std::string::npos) << complaint;
        EXPECT_TRUE(names_a_line(complaint)) << complaint;
    }
}

// Cuts, flips, repeats and swaps: each result is a machine that its JSON keeps, or an error with a
// line.
TEST(PastedMatrices, MayBeDamaged) {
    std::vector<std::string> texts{
        with_each_line_after("n1: ", tabs) + with_each_line_after("n2: ", tabs),
        "\x1b[4m" + tabs + "NIC Legend:\n\tGPU0\tGPU1\nGPU0\tX\tGNS\nGPU1\tGNS\tX\n",
        amd_tables,
        amd_smi_json,
        old_amd_smi_json,
        rocm_smi_json,
        "|  | GPU0 | NIC0 |\n|---|---|---|\n| GPU0 | X | PIX |\n| NIC0 | PIX | X |\n",
        "=== n1\n" + tabs + "=== n2\n" + tabs};
    std::mt19937 random(43);
    const auto below = [&](std::size_t end) {
        return std::uniform_int_distribution<std::size_t>(0, end - 1)(random);
    };
    for (int variant = 0; variant < 500; ++variant) {
        std::string text = texts[below(texts.size())];
        for (std::size_t damage = below(3) + 1; damage > 0; --damage) {
            const std::size_t at = below(text.size()), other = below(text.size());
            const std::size_t line = text.rfind('\n', at) + 1, end = text.find('\n', at);
            const std::string whole = text.substr(line, end - line) + "\n";
            switch (below(5)) {
                case 0:
                    text.resize(std::max<std::size_t>(at, 1));
                    break;
                case 1:
                    text[at] = static_cast<char>(below(256));
                    break;
                case 2:
                    text.insert(line, whole);
                    break;
                case 3:
                    text.erase(line, std::min(whole.size(), text.size() - line - 1));
                    break;
                default:
                    std::swap(text[at], text[other]);
            }
        }
        try {
            const Machine machine = parse_machine(text, "FILE");
            print_tree(machine);
            ASSERT_FALSE(machine.hosts.empty()) << text;
        } catch (const Error& error) {
            ASSERT_TRUE(names_a_line(error.what())) << error.what();
        }
    }
}

}  // namespace
}  // namespace tutti
