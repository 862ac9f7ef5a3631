// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "base/index.hpp"
#include "topology/machine/link_speeds.hpp"
#include "topology/machine/printable.hpp"
#include "topology/routes/paths.hpp"

namespace tutti {
namespace {

constexpr double unknown_nic_gigabits = 10;

// Adds one host to a graph.
class Builder {
public:
    /// All names except those of GPUs begin with `prefix`.
    Builder(const Host& host, HostGraph& graph, std::string prefix)
        : host_(host),
          device_labels_(device_labels(host)),
          graph_(graph),
          prefix_(std::move(prefix)) {
        if (graph_.cpu == CpuIdentity{}) graph_.cpu = host.cpu;
    }

    void build() {
        add_cpus();
        for (std::size_t s = 0; s < host_.pcie_switches.size(); ++s) add_switch(s);
        for (const SwitchLink& link : host_.switch_links) add_switch_link(link);
        for (std::size_t d = 0; d < host_.devices.size(); ++d) add_device(d);
        for (const Link& link : host_.links) add_link(link);
    }

private:
    int add_node(GraphNodeKind kind, std::size_t index, const std::string& name) {
        const bool is_shared = kind == GraphNodeKind::gpu || kind == GraphNodeKind::nvswitch;
        graph_.nodes.push_back(
            {kind, static_cast<int>(index), printable(is_shared ? name : prefix_ + name)});
        graph_.out.emplace_back();
        graph_.compute_capability.push_back(0);
        return int_size(graph_.nodes) - 1;
    }

    // Adds edges in both directions; links of one kind between the same ends add up.
    void join(EdgeKind kind, int a, int b, double bandwidth_GBps, int count = 1) {
        for (const int e : at(graph_.out, a)) {
            GraphEdge& edge = at(graph_.edges, e);
            if (edge.to != b || edge.kind != kind) continue;
            for (GraphEdge* direction : {&edge, &at(graph_.edges, edge.reverse)}) {
                direction->bandwidth_GBps += bandwidth_GBps;
                direction->count += count;
            }
            return;
        }
        const int there = int_size(graph_.edges);
        graph_.edges.push_back({kind, a, b, bandwidth_GBps, count, there + 1});
        graph_.edges.push_back({kind, b, a, bandwidth_GBps, count, there});
        at(graph_.out, a).push_back(there);
        at(graph_.out, b).push_back(there + 1);
    }

    // Adds every NUMA node that is referenced, even if the host does not list it; at least one.
    void add_cpus() {
        std::set<int> numbers;
        for (const NumaNode& node : host_.numa_nodes)
            if (!node.cores.empty() || host_.cores.empty()) numbers.insert(node.os_index);
        for (const Device& device : host_.devices)
            if (device.numa_node) numbers.insert(*device.numa_node);
        for (const PcieSwitch& bridge : host_.pcie_switches)
            if (bridge.numa_node) numbers.insert(*bridge.numa_node);
        for (const Link& link : host_.links)
            for (const LinkEnd& end : {link.a, link.b})
                if (end.kind == LinkEnd::Kind::numa_node) numbers.insert(end.index);
        if (numbers.empty()) numbers.insert(0);
        for (const int number : numbers) {
            const int cpu =
                add_node(GraphNodeKind::cpu, as_size(number), fmt::format("NUMA node {}", number));
            for (const int other : cpus_)
                join(EdgeKind::sockets, other, cpu, socket_GBps(host_.cpu));
            cpus_.push_back(cpu);
            graph_.cpus.push_back(cpu);
            cpu_of_number_[number] = cpu;
        }
    }

    int cpu_at(std::optional<int> numa_node) const {
        return numa_node ? cpu_of_number_.at(*numa_node) : cpus_.front();
    }

    // Falls back to the NUMA node of a device or switch below.
    std::optional<int> numa_node_of_switch(std::size_t position) const {
        const PcieSwitch& bridge = host_.pcie_switches[position];
        if (bridge.numa_node) return bridge.numa_node;
        const int above = static_cast<int>(position);
        for (const Device& device : host_.devices)
            if (device.above == above && device.numa_node) return device.numa_node;
        for (std::size_t s = position + 1; s < host_.pcie_switches.size(); ++s)
            if (host_.pcie_switches[s].above == above)
                if (const auto found = numa_node_of_switch(s)) return found;
        return {};
    }

    // Recognises PEX88000 and PEX89000: two levels of bridges in one chip of full bandwidth. Their
    // subsystem ids begin with a at both levels in generation 4, with 0 above and 1 below in
    // generation 5 (as in NCCL, src/graph/topo.cc).
    bool one_chip_with_above(const PcieSwitch& bridge) const {
        if (!bridge.above) return false;
        const PcieSwitch& above = at(host_.pcie_switches, *bridge.above);
        if (bridge.pci_id != above.pci_id) return false;
        const auto are_levels = [&](std::string_view upper, std::string_view lower) {
            return above.subsystem_id.empty() || bridge.subsystem_id.empty() ||
                   (above.subsystem_id.starts_with(upper) &&
                    bridge.subsystem_id.starts_with(lower));
        };
        return (bridge.pci_id == "1000:c010" && are_levels("1000:a", "1000:a")) ||
               (bridge.pci_id == "1000:c030" && are_levels("1000:0", "1000:1"));
    }

    void add_switch(std::size_t position) {
        const PcieSwitch& bridge = host_.pcie_switches[position];
        if (one_chip_with_above(bridge)) {
            node_of_switch_.push_back(at(node_of_switch_, *bridge.above));
            return;
        }
        const int node =
            add_node(GraphNodeKind::pcie_switch, position,
                     fmt::format("switch {}", bridge.pci_address.empty() ? std::to_string(position)
                                                                         : bridge.pci_address));
        node_of_switch_.push_back(node);
        join(EdgeKind::pcie, node, above(bridge.above, numa_node_of_switch(position)),
             pcie_GBps(bridge.link));
    }

    // The link is as fast as the slower switch.
    void add_switch_link(const SwitchLink& link) {
        const int a = at(node_of_switch_, link.a), b = at(node_of_switch_, link.b);
        if (a == b) return;
        join(EdgeKind::pcie, a, b,
             std::min(pcie_GBps(at(host_.pcie_switches, link.a).link),
                      pcie_GBps(at(host_.pcie_switches, link.b).link)));
    }

    int above(std::optional<int> position, std::optional<int> numa_node) const {
        return position ? at(node_of_switch_, *position) : cpu_at(numa_node);
    }

    void add_device(std::size_t position) {
        const Device& device = host_.devices[position];
        if (device.kind == DeviceKind::nvswitch) {
            const auto known =
                std::ranges::find(graph_.nodes, GraphNodeKind::nvswitch, &GraphNode::kind);
            node_of_device_.push_back(known == graph_.nodes.end()
                                          ? add_node(GraphNodeKind::nvswitch, position, "NVSwitch")
                                          : static_cast<int>(known - graph_.nodes.begin()));
            return;
        }
        const bool is_gpu = device.kind == DeviceKind::gpu;
        const int node =
            is_gpu
                ? add_node(GraphNodeKind::gpu, position, fmt::format("GPU{}", graph_.gpus.size()))
                : add_node(GraphNodeKind::nic, position, "NIC " + name_of_nic(device));
        node_of_device_.push_back(node);
        // A NIC that is not on the PCIe bus may be known to all CPUs.
        const bool is_at_all_cpus =
            !is_gpu && device.pci_address.empty() && !device.above && !device.numa_node;
        for (const int up :
             is_at_all_cpus ? cpus_ : std::vector{above(device.above, device.numa_node)})
            join(EdgeKind::pcie, node, up, pcie_GBps(device.link));
        if (is_gpu) {
            graph_.gpus.push_back(node);
            at(graph_.compute_capability, node) = device.compute_capability;
        } else {
            add_ports(node, position);
        }
    }

    static std::string name_of_nic(const Device& device) {
        if (!device.pci_address.empty()) return device.pci_address;
        return device.ports.empty() ? "" : device.ports.front().name;
    }

    void add_ports(int nic, std::size_t position) {
        const Device& device = host_.devices[position];
        std::vector<Port> ports = device.ports;
        if (ports.empty()) ports.push_back({});
        for (Port& port : ports) {
            if (!port.for_collectives) continue;
            if (port.name.empty())
                port.name = device.names.empty() ? device_labels_[position] : device.names.front();
            const double gigabits = port.gigabits > 0 ? port.gigabits : unknown_nic_gigabits;
            const int node = add_node(GraphNodeKind::port, position, port.name);
            join(EdgeKind::port, nic, node, gigabits / 8);
            graph_.ports.push_back(node);
            graph_.port_speed_known.push_back(port.gigabits > 0);
        }
    }

    int node_at(const LinkEnd& end) const {
        return end.kind == LinkEnd::Kind::numa_node ? cpu_of_number_.at(end.index)
                                                    : at(node_of_device_, end.index);
    }

    void add_link(const Link& link) {
        const int a = node_at(link.a);
        const int b = node_at(link.b);
        if (a == b) return;
        const double bandwidth_GBps = bandwidth_GBps_of(link, host_);
        if (bandwidth_GBps <= 0) return;  // no links
        const EdgeKind kind = link.kind == LinkKind::nvlink ? EdgeKind::nvlink
                              : link.kind == LinkKind::xgmi ? EdgeKind::xgmi
                                                            : EdgeKind::c2c;
        join(kind, a, b, bandwidth_GBps, link.count);
    }

    const Host& host_;
    std::vector<std::string> device_labels_;
    HostGraph& graph_;
    std::string prefix_;
    std::vector<int> cpus_;
    std::map<int, int> cpu_of_number_;
    std::vector<int> node_of_switch_;  // by position in Host::pcie_switches
    std::vector<int> node_of_device_;  // by position in Host::devices
};

}  // namespace

HostGraph graph_of(const Host& host) {
    HostGraph graph;
    Builder(host, graph, "").build();
    return graph;
}

HostGraph graph_of_fabric(const std::vector<Host>& hosts) {
    HostGraph graph;
    for (const Host& host : hosts) Builder(host, graph, host.name + " ").build();
    return graph;
}

std::string short_name(EdgeKind kind) {
    switch (kind) {
        case EdgeKind::nvlink:
            return "NVLink";
        case EdgeKind::xgmi:
            return "xGMI";
        case EdgeKind::c2c:
            return "C2C";
        case EdgeKind::pcie:
            return "PCIe";
        case EdgeKind::sockets:
            return "sockets";
        case EdgeKind::port:
            break;
    }
    return "network port";
}

std::string HostGraph::describe(int edge) const {
    const GraphEdge& e = at(edges, edge);
    return fmt::format("{} -> {} ({})", at(nodes, e.from).name, at(nodes, e.to).name,
                       short_name(e.kind));
}

}  // namespace tutti
