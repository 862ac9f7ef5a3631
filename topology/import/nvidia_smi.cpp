// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <set>
#include <string>

#include "base/index.hpp"
#include "topology/import/formats.hpp"
#include "topology/import/nvidia_smi_parts.hpp"
#include "topology/import/pcie_tree.hpp"
#include "topology/machine/gpu_models.hpp"
#include "topology/machine/link_speeds.hpp"

namespace tutti {
namespace {

/// Groups of devices (union-find): if A is with B and B with C, A is with C. So pairs hidden by
/// NVLink are grouped by the devices near both.
class DeviceGroups {
public:
    explicit DeviceGroups(std::size_t count) : parent_(count) {
        std::iota(parent_.begin(), parent_.end(), std::size_t{0});
    }

    /// Returns the first member of the device's group.
    std::size_t of(std::size_t member) const {
        while (parent_[member] != member) member = parent_[member];
        return member;
    }

    void join(std::size_t a, std::size_t b) {
        a = of(a);
        b = of(b);
        parent_[std::max(a, b)] = std::min(a, b);
    }

private:
    std::vector<std::size_t> parent_;
};

// Groups devices that are at most `farthest` apart.
DeviceGroups grouped(const SmiMatrix& matrix, Nearness farthest) {
    DeviceGroups groups(matrix.devices.size());
    for (std::size_t a = 0; a < matrix.devices.size(); ++a)
        for (std::size_t b = 0; b < a; ++b)
            if (const Nearness near = matrix.near(a, b);
                near != Nearness::unknown && near <= farthest)
                groups.join(a, b);
    return groups;
}

// Whether two devices have different NUMA nodes by their affinity columns.
bool have_other_affinities(const SmiDevice& a, const SmiDevice& b) {
    if (a.numa_node && b.numa_node) return a.numa_node != b.numa_node;
    return !a.cpus.empty() && !b.cpus.empty() && a.cpus != b.cpus;
}

// Returns the first known affinities of each group.
std::vector<SmiDevice> affinities_of(const SmiMatrix& matrix, const DeviceGroups& groups) {
    std::vector<SmiDevice> affinity(matrix.devices.size());
    for (std::size_t i = 0; i < matrix.devices.size(); ++i) {
        SmiDevice& group = affinity[groups.of(i)];
        if (!group.numa_node) group.numa_node = matrix.devices[i].numa_node;
        if (group.cpus.empty()) group.cpus = matrix.devices[i].cpus;
    }
    return affinity;
}

// Joins devices that are NODE apart (between two host bridges), except with different affinities:
// the driver also writes NODE between NUMA nodes of one socket.
void join_nodes(const SmiMatrix& matrix, DeviceGroups& groups) {
    auto affinity = affinities_of(matrix, groups);
    for (std::size_t a = 0; a < matrix.devices.size(); ++a)
        for (std::size_t b = 0; b < a; ++b) {
            if (matrix.near(a, b) != Nearness::node) continue;
            const auto one = affinity[groups.of(a)], other = affinity[groups.of(b)];
            if (have_other_affinities(one, other)) continue;
            groups.join(a, b);
            affinity[groups.of(a)] = {.cpus = one.cpus.empty() ? other.cpus : one.cpus,
                                      .numa_node = one.numa_node ? one.numa_node : other.numa_node};
        }
}

// Joins GPUs whose distance is hidden by NVLink if they have the same affinities. For other devices
// the matrix is more reliable.
void join_hidden(const SmiMatrix& matrix, DeviceGroups& groups) {
    std::map<std::vector<int>, std::size_t> with_cpus;
    for (std::size_t i = 0; i < matrix.devices.size(); ++i) {
        const auto& cpus = matrix.devices[i].cpus;
        if (cpus.empty()) continue;
        const std::size_t other = with_cpus.try_emplace(cpus, i).first->second;
        if (matrix.near(i, other) == Nearness::unknown) groups.join(i, other);
    }
}

// Whether the matrix tells the distance of this device from others. The driver writes SYS for a NIC
// that it does not know.
bool has_known_place(const SmiMatrix& matrix, std::size_t device) {
    for (std::size_t other = 0; other < matrix.devices.size(); ++other) {
        const Nearness near = matrix.near(device, other);
        if (other == device || near == Nearness::unknown) continue;
        if (matrix.devices[device].is_gpu || near == Nearness::phb || near == Nearness::node)
            return true;
    }
    return false;
}

// Returns the NUMA node of each device: the table's, or a number for each group of devices that are
// not SYS apart. None if the table neither states it nor tells the group from another one.
std::vector<std::optional<int>> numa_nodes_of(const SmiMatrix& matrix) {
    const std::size_t count = matrix.devices.size();
    DeviceGroups groups = grouped(matrix, Nearness::phb);
    join_nodes(matrix, groups);
    join_hidden(matrix, groups);
    std::map<std::size_t, std::optional<int>> number_of;  // by group
    std::set<int> taken;
    bool is_stated = false;
    for (std::size_t i = 0; i < count; ++i) {
        const SmiDevice& device = matrix.devices[i];
        const bool has_affinity = device.numa_node || !device.cpus.empty();
        is_stated = is_stated || has_affinity;
        if (!has_affinity && !has_known_place(matrix, i)) continue;
        std::optional<int>& number = number_of[groups.of(i)];
        if (!number) number = device.numa_node;
    }
    if (number_of.size() == 1 && !is_stated) return std::vector<std::optional<int>>(count);
    for (const auto& [group, number] : number_of)
        if (number) taken.insert(*number);
    std::vector<std::optional<int>> nodes(count);
    for (std::size_t i = 0; i < count; ++i) {
        const auto group = number_of.find(groups.of(i));
        if (group == number_of.end()) continue;
        for (int next = 0; !group->second; ++next)
            if (taken.insert(next).second) group->second = next;
        nodes[i] = group->second;
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

// PIX means under the same switch, PXB under switches below a common one.
void add_switches(const SmiMatrix& matrix, Host& host) {
    const std::size_t count = matrix.devices.size();
    const DeviceGroups leaf = grouped(matrix, Nearness::pix), top = grouped(matrix, Nearness::pxb);
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

// For an unknown model more than 12 links mean Hopper, the oldest with 18.
double link_GBps(const Device& gpu, int links) {
    constexpr int hopper = 90, most_before = 12;
    if (gpu.compute_capability > 0) return nvlink_GBps(gpu.compute_capability);
    return nvlink_GBps(links > most_before ? hopper : 0);
}

Link link_between(const Host& host, std::size_t gpu, std::size_t other, int count) {
    return {.kind = LinkKind::nvlink,
            .a = {LinkEnd::Kind::device, static_cast<int>(gpu)},
            .b = {LinkEnd::Kind::device, static_cast<int>(other)},
            .count = count,
            .bandwidth_GBps = count * link_GBps(host.devices[gpu], count)};
}

// For two GPUs at an NVSwitch the matrix has all links of the one with fewer. If the sum over all
// pairs exceeds what a GPU can have, there is an NVSwitch.
void add_nvlinks(const SmiMatrix& matrix, Host& host) {
    const std::size_t count = matrix.devices.size();
    DeviceGroups islands(count);
    for (std::size_t a = 0; a < count; ++a)
        for (std::size_t b = 0; b < a; ++b)
            if (matrix.links(a, b) > 0) islands.join(a, b);
    std::map<std::size_t, std::vector<std::size_t>> members_of;
    for (std::size_t i = 0; i < count; ++i) members_of[islands.of(i)].push_back(i);

    for (const auto& [first, members] : members_of) {
        if (members.size() < 2) continue;
        bool has_switch = false;
        std::vector<int> most;  // links to one other GPU
        for (const std::size_t a : members) {
            int sum = 0;
            most.push_back(0);
            for (const std::size_t b : members) {
                sum += a == b ? 0 : matrix.links(a, b);
                most.back() = std::max(most.back(), a == b ? 0 : matrix.links(a, b));
            }
            has_switch = has_switch || sum > most_nvlinks(host.devices[a].compute_capability);
        }
        if (has_switch) {
            const std::size_t nvswitch = host.devices.size();
            host.devices.push_back({.kind = DeviceKind::nvswitch});
            for (std::size_t m = 0; m < members.size(); ++m)
                host.links.push_back(link_between(host, members[m], nvswitch, most[m]));
            continue;
        }
        for (const std::size_t a : members)
            for (const std::size_t b : members)
                if (a < b && matrix.links(a, b) > 0)
                    host.links.push_back(link_between(host, a, b, matrix.links(a, b)));
    }
}

// Whether the resulting tree agrees with the matrix about two devices. The tree has no host
// bridges, so NODE counts as PHB.
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
        case Nearness::node:
            if (one.numa_node != other.numa_node) return true;  // by their affinities
            [[fallthrough]];
        case Nearness::phb:
            return one.numa_node == other.numa_node &&
                   !(under_switches && top_of(one) == top_of(other));
        case Nearness::sys:
            return !(under_switches && top_of(one) == top_of(other)) &&
                   (!one.numa_node || one.numa_node != other.numa_node);
        case Nearness::unknown:
        case Nearness::self:
            break;
    }
    return true;
}

void note_what_is_missing(const SmiMatrix& matrix, Host& host) {
    const auto note = [&](std::string what) { host.not_seen.push_back(std::move(what)); };
    const auto lack = [&](const std::string Device::*field) {
        return std::ranges::any_of(host.devices, [&](const Device& device) {
            return device.kind == DeviceKind::gpu && (device.*field).empty();
        });
    };
    note(fmt::format("{}PCIe speeds, caches{}: nvidia-smi topo -m does not print them",
                     lack(&Device::pci_address) ? "PCI addresses, " : "",
                     lack(&Device::model) ? ", memory and models" : " and memory"));
    if (!matrix.has_distances)
        return note(
            "NICs, NVLinks, distances and NUMA nodes: nvidia-smi topo -p2p does not print "
            "them; use nvidia-smi topo -m");
    std::set<int> cut;
    std::vector<std::string> not_placed;
    bool is_numbered = false, is_hidden = false;
    int contradictions = 0;
    for (std::size_t a = 0; a < matrix.devices.size(); ++a) {
        const auto node = host.devices[a].numa_node;
        if (!node)
            not_placed.push_back(matrix.devices[a].name);
        else if (matrix.devices[a].lacks_cpus)
            cut.insert(*node);
        is_numbered = is_numbered || matrix.devices[a].numa_node;
        for (std::size_t b = 0; b < a; ++b) {
            is_hidden = is_hidden || matrix.links(a, b) > 0;
            if (!agrees(matrix, host, a, b)) ++contradictions;
        }
    }
    if (!is_numbered && not_placed.size() < matrix.devices.size())
        note("the numbers of the NUMA nodes: nvidia-smi did not print them; numbered from 0");
    if (!cut.empty())
        note(
            fmt::format("all CPUs of NUMA node {}: nvidia-smi cuts long lists of CPUs; use tutti "
                        "topo or lstopo on the host",
                        fmt::join(cut, ", ")));
    if (is_hidden) note("the PCIe distance of GPUs with NVLinks: derived from devices near both");
    if (std::ranges::any_of(host.links, [&](const Link& link) {
            return at(host.devices, link.a.index).compute_capability == 0 &&
                   link.count == most_nvlinks(0);
        }))
        note(
            "whether GPUs with 18 NVLinks are Hopper (20.6 GB/s per link, assumed) or Blackwell "
            "(40.1); add the lines of nvidia-smi -L to the file");
    if (!not_placed.empty())
        note(fmt::format("the NUMA node of {}: the matrix does not tell it",
                         fmt::join(not_placed, ", ")));
    if (contradictions > 0)
        note(fmt::format("a PCIe tree for the whole matrix: {} pairs contradict it",
                         contradictions));
}

Host host_of(const SmiMatrix& matrix) {
    const auto nodes = numa_nodes_of(matrix);
    Host host{.name = matrix.host};
    for (std::size_t i = 0; i < matrix.devices.size(); ++i) {
        const auto& device = matrix.devices[i];
        host.devices.push_back({.kind = device.is_gpu ? DeviceKind::gpu : DeviceKind::nic,
                                .pci_address = device.pci_address,
                                .names = {device.name},
                                .numa_node = nodes[i],
                                .model = device.model,
                                .compute_capability = compute_capability_of_model(device.model)});
        if (!device.is_gpu) host.devices.back().ports.push_back({.name = device.name});
    }
    host.no_peer_access = matrix.no_peer_access;
    add_numa_nodes(matrix, host);
    add_switches(matrix, host);
    add_nvlinks(matrix, host);
    note_what_is_missing(matrix, host);
    return host;
}

}  // namespace

bool looks_like_nvidia_smi(std::string_view text) {
    return !pasted_parts(text, smi_header_in).empty();
}

Machine read_nvidia_smi(const Source& source) {
    std::vector<Host> hosts;
    for (const SmiMatrix& matrix : parse_smi_matrices(source)) hosts.push_back(host_of(matrix));
    return machine_of(std::move(hosts));
}

}  // namespace tutti
