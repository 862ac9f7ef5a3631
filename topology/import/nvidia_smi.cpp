// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>

#include "base/index.hpp"
#include "topology/import/formats.hpp"
#include "topology/import/nvidia_smi_matrix.hpp"
#include "topology/import/pcie_tree.hpp"
#include "topology/machine/gpu_models.hpp"
#include "topology/machine/link_speeds.hpp"

namespace tutti {
namespace {

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
            return !one.numa_node || one.numa_node != other.numa_node;
        case Nearness::unknown:
        case Nearness::self:
            break;
    }
    return true;
}

void note_what_is_missing(const SmiMatrix& matrix, Host& host) {
    const auto lack = [&](auto of_device) {
        return std::ranges::any_of(host.devices, [&](const Device& device) {
            return device.kind == DeviceKind::gpu && of_device(device);
        });
    };
    std::string missing = "PCIe speeds, caches";
    if (lack([](const Device& gpu) { return gpu.pci_address.empty(); }))
        missing = "PCI addresses, " + missing;
    missing += lack([](const Device& gpu) { return gpu.model.empty(); }) ? ", memory and models"
                                                                         : " and memory";
    host.not_seen.push_back(missing + ": nvidia-smi topo -m does not print them");
    bool hidden = false, unpriced = false;
    for (const Link& link : host.links)
        unpriced = unpriced || (at(host.devices, link.a.index).compute_capability == 0 &&
                                link.count == most_nvlinks(0));
    std::string nowhere;
    for (std::size_t i = 0; i < matrix.devices.size(); ++i)
        if (!matrix.devices[i].is_gpu && !host.devices[i].numa_node)
            nowhere += (nowhere.empty() ? "" : ", ") + matrix.devices[i].name;
    int contradictions = 0;
    for (std::size_t a = 0; a < matrix.devices.size(); ++a)
        for (std::size_t b = 0; b < a; ++b) {
            hidden = hidden || matrix.links(a, b) > 0;
            if (!agrees(matrix, host, a, b)) ++contradictions;
        }
    if (!matrix.has_distances)
        host.not_seen.push_back(
            "NICs, NVLinks, distances and NUMA nodes: nvidia-smi topo -p2p does not print them; "
            "use "
            "nvidia-smi topo -m");
    std::set<int> cut;
    for (std::size_t i = 0; i < matrix.devices.size(); ++i)
        if (matrix.devices[i].lacks_cpus && host.devices[i].numa_node)
            cut.insert(*host.devices[i].numa_node);
    if (!cut.empty())
        host.not_seen.push_back(
            fmt::format("all CPUs of NUMA node {}: nvidia-smi cuts long lists of CPUs; use tutti "
                        "topo or lstopo on the host",
                        fmt::join(cut, ", ")));
    if (hidden)
        host.not_seen.push_back(
            "the PCIe distance of GPUs with NVLinks: derived from devices near both");
    if (unpriced)
        host.not_seen.push_back(
            "whether GPUs with 18 NVLinks are Hopper (20.6 GB/s per link, assumed) or Blackwell "
            "(40.1); "
            "add the lines of nvidia-smi -L to the file");
    if (!nowhere.empty())
        host.not_seen.push_back("the NUMA node of " + nowhere + ": it is SYS to everything");
    if (contradictions > 0)
        host.not_seen.push_back("a PCIe tree for the whole matrix: " +
                                std::to_string(contradictions) + " pairs contradict it");
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

void name_hosts_apart(Machine& machine) {
    std::set<std::string> taken;
    for (std::size_t i = 0; i < machine.hosts.size(); ++i) {
        std::string& name = machine.hosts[i].name;
        if (name.empty()) name = "host" + std::to_string(i);
        while (!taken.insert(name).second) name += "-" + std::to_string(i);
    }
}

Machine read_nvidia_smi(const Source& source) {
    Machine machine;
    for (const SmiMatrix& matrix : parse_smi_matrices(source)) {
        Host host = host_of(matrix);
        const bool is_repeated =
            !host.name.empty() && std::ranges::find(machine.hosts, host) != machine.hosts.end();
        if (!is_repeated) machine.hosts.push_back(std::move(host));
    }
    if (machine.hosts.size() > 1) name_hosts_apart(machine);
    return machine;
}

}  // namespace tutti
