// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <map>
#include <numeric>
#include <set>

#include "base/index.hpp"
#include "topology/import/formats.hpp"
#include "topology/import/nvidia_smi_matrix.hpp"
#include "topology/import/pcie_tree.hpp"
#include "topology/machine/link_speeds.hpp"

namespace tutti {
namespace {

// Devices that are known to share something; what A shares with B and B with C, A shares with C.
// So a pair that NVLink hides is judged by the devices that are near both.
class Groups {
public:
    explicit Groups(std::size_t count) : parent_(count) {
        std::iota(parent_.begin(), parent_.end(), std::size_t{0});
    }
    std::size_t of(std::size_t member) const {
        while (parent_[member] != member) member = parent_[member];
        return member;
    }
    void join(std::size_t a, std::size_t b) {
        a = of(a);
        b = of(b);
        parent_[std::max(a, b)] = std::min(a, b);  // a group is known by its first member
    }

private:
    std::vector<std::size_t> parent_;
};

Groups grouped(const SmiMatrix& matrix, Nearness farthest) {
    Groups groups(matrix.devices.size());
    for (std::size_t a = 0; a < matrix.devices.size(); ++a)
        for (std::size_t b = 0; b < a; ++b)
            if (const Nearness near = matrix.near(a, b);
                near != Nearness::unknown && near <= farthest)
                groups.join(a, b);
    return groups;
}

// Of each device: the table's, or a number for each group of devices that are not SYS apart.
std::vector<std::optional<int>> numa_nodes_of(const SmiMatrix& matrix) {
    const std::size_t count = matrix.devices.size();
    Groups groups = grouped(matrix, Nearness::node);
    // The same CPUs are near GPUs of one node. Of devices that the matrix sets apart they say less.
    std::map<std::vector<int>, std::size_t> with_cpus;
    for (std::size_t i = 0; i < count; ++i) {
        const auto& cpus = matrix.devices[i].cpus;
        if (cpus.empty()) continue;
        const std::size_t other = with_cpus.try_emplace(cpus, i).first->second;
        if (matrix.near(i, other) == Nearness::unknown) groups.join(i, other);
    }
    std::map<std::size_t, int> number_of;
    for (std::size_t i = 0; i < count; ++i)
        if (const auto node = matrix.devices[i].numa_node)
            number_of.try_emplace(groups.of(i), *node);
    int next = 0;
    std::vector<std::optional<int>> nodes(count);
    for (std::size_t i = 0; i < count; ++i) {
        const std::size_t group = groups.of(i);
        bool placed = number_of.contains(group) || !matrix.devices[i].cpus.empty();
        for (std::size_t j = 0; j < count && !placed; ++j)
            placed = j != i && matrix.near(i, j) != Nearness::unknown;
        if (!placed) continue;  // NVLinks hide all that the table could say
        while (!number_of.contains(group)) {
            const bool taken = std::ranges::any_of(
                number_of, [&](const auto& numbered) { return numbered.second == next; });
            if (!taken) number_of[group] = next;
            ++next;
        }
        nodes[i] = number_of[group];
    }
    return nodes;
}

void add_numa_nodes(const SmiMatrix& matrix, Host& host) {
    std::map<int, std::set<int>> cpus_of;
    std::set<int> taken;
    for (std::size_t i = 0; i < matrix.devices.size(); ++i) {
        if (!host.devices[i].numa_node) continue;
        auto& cpus = cpus_of[*host.devices[i].numa_node];
        for (const int cpu : matrix.devices[i].cpus)
            if (taken.insert(cpu).second) cpus.insert(cpu);
    }
    for (const auto& [node, cpus] : cpus_of) {
        NumaNode numa_node{.os_index = node};
        for (const int cpu : cpus) {
            numa_node.cores.push_back(int_size(host.cores));
            host.cores.push_back({{cpu}});
        }
        host.numa_nodes.push_back(std::move(numa_node));
    }
}

// PIX: under one switch. PXB: under switches that hang under one.
void add_switches(const SmiMatrix& matrix, Host& host) {
    const std::size_t count = matrix.devices.size();
    const Groups leaf = grouped(matrix, Nearness::pix), top = grouped(matrix, Nearness::pxb);
    std::vector<int> leaf_size(count), top_size(count);
    for (std::size_t i = 0; i < count; ++i) {
        ++leaf_size[leaf.of(i)];
        ++top_size[top.of(i)];
    }
    std::map<std::size_t, int> leaf_at, top_at;
    const auto add_switch = [&](std::optional<int> above, std::optional<int> numa_node) {
        host.pcie_switches.push_back({.above = above, .numa_node = numa_node});
        return int_size(host.pcie_switches) - 1;
    };
    for (std::size_t i = 0; i < count; ++i) {
        Device& device = host.devices[i];
        std::optional<int> above;
        if (top_size[top.of(i)] > leaf_size[leaf.of(i)]) {
            if (!top_at.contains(top.of(i))) top_at[top.of(i)] = add_switch({}, device.numa_node);
            above = top_at[top.of(i)];
        }
        if (above || leaf_size[leaf.of(i)] > 1) {
            if (!leaf_at.contains(leaf.of(i)))
                leaf_at[leaf.of(i)] = add_switch(above, device.numa_node);
            above = leaf_at[leaf.of(i)];
        }
        device.above = above;
    }
}

// No GPU has more NVLinks than this; where the matrix shows more, each pair sees the same ones,
// through NVSwitches.
constexpr int most_nvlinks = 18;

double bandwidth_GBps_of(int links) {
    constexpr int hopper = 90;  // the oldest with 18 links
    return links * nvlink_GBps(links == most_nvlinks ? hopper : 0);
}

Link link_between(std::size_t a, std::size_t b, int count) {
    return {.kind = LinkKind::nvlink,
            .a = {LinkEnd::Kind::device, static_cast<int>(a)},
            .b = {LinkEnd::Kind::device, static_cast<int>(b)},
            .count = count,
            .bandwidth_GBps = bandwidth_GBps_of(count)};
}

void add_nvlinks(const SmiMatrix& matrix, Host& host) {
    const std::size_t count = matrix.devices.size();
    Groups islands(count);
    for (std::size_t a = 0; a < count; ++a)
        for (std::size_t b = 0; b < a; ++b)
            if (matrix.links(a, b) > 0) islands.join(a, b);
    std::map<std::size_t, std::vector<std::size_t>> members_of;
    for (std::size_t i = 0; i < count; ++i) members_of[islands.of(i)].push_back(i);

    for (const auto& [first, members] : members_of) {
        if (members.size() < 2) continue;
        const int links = matrix.links(members[0], members[1]);
        bool all_the_same = links > 0;
        for (const std::size_t a : members)
            for (const std::size_t b : members)
                all_the_same = all_the_same && (a == b || matrix.links(a, b) == links);
        const auto peers = int_size(members) - 1;
        if (all_the_same && links * peers > most_nvlinks) {
            const std::size_t nvswitch = host.devices.size();
            host.devices.push_back({.kind = DeviceKind::nvswitch});
            for (const std::size_t gpu : members)
                host.links.push_back(link_between(gpu, nvswitch, links));
            continue;
        }
        for (const std::size_t a : members)
            for (const std::size_t b : members)
                if (a < b && matrix.links(a, b) > 0)
                    host.links.push_back(link_between(a, b, matrix.links(a, b)));
    }
}

// What the tree that was made says of two devices, as far as it can say it: without host bridges,
// NODE is PHB.
bool agrees(const SmiMatrix& matrix, const Host& host, std::size_t a, std::size_t b) {
    const Device &one = host.devices[a], &other = host.devices[b];
    const auto top_of = [&](const Device& device) {
        const auto above = host.pcie_switches[*device.above].above;
        return above ? *above : *device.above;
    };
    const bool under_switches = one.above && other.above;
    switch (matrix.near(a, b)) {
        case Nearness::pix:
            return under_switches && one.above == other.above;
        case Nearness::pxb:
            return under_switches && one.above != other.above && top_of(one) == top_of(other);
        case Nearness::phb:
        case Nearness::node:
            return one.numa_node == other.numa_node &&
                   !(under_switches && top_of(one) == top_of(other));
        case Nearness::sys:
            return one.numa_node != other.numa_node;
        case Nearness::unknown:
        case Nearness::self:
            break;
    }
    return true;
}

void note_what_is_missing(const SmiMatrix& matrix, Host& host) {
    host.not_seen.push_back(
        "PCI addresses, PCIe speeds, caches, memory and models: nvidia-smi "
        "topo -m does not print them");
    bool hidden = false;
    int contradictions = 0;
    for (std::size_t a = 0; a < matrix.devices.size(); ++a)
        for (std::size_t b = 0; b < a; ++b) {
            hidden = hidden || matrix.near(a, b) == Nearness::unknown;
            if (!agrees(matrix, host, a, b)) ++contradictions;
        }
    if (hidden)
        host.not_seen.push_back(
            "how near GPUs with NVLinks are by PCIe: taken from the devices "
            "that are near both");
    if (contradictions > 0)
        host.not_seen.push_back("a PCIe tree that fits the whole matrix: " +
                                std::to_string(contradictions) + " pairs fit no tree");
}

}  // namespace

Machine read_nvidia_smi(const Source& source) {
    const SmiMatrix matrix = parse_smi_matrix(source);
    const auto nodes = numa_nodes_of(matrix);
    Host host;
    for (std::size_t i = 0; i < matrix.devices.size(); ++i) {
        const auto& device = matrix.devices[i];
        host.devices.push_back({.kind = device.is_gpu ? DeviceKind::gpu : DeviceKind::nic,
                                .names = {device.name},
                                .numa_node = nodes[i]});
        if (!device.is_gpu) host.devices.back().ports.push_back({.name = device.name});
    }
    add_numa_nodes(matrix, host);
    add_switches(matrix, host);
    add_nvlinks(matrix, host);
    note_what_is_missing(matrix, host);
    return {.hosts = {std::move(host)}, .network = {}};
}

}  // namespace tutti
