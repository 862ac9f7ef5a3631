// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <set>

#include "base/index.hpp"
#include "topology/draw/device_text.hpp"
#include "topology/draw/draw.hpp"
#include "topology/draw/link_summary.hpp"
#include "topology/machine/link_speeds.hpp"
#include "topology/machine/printable.hpp"

namespace tutti {
namespace {

std::string quoted(const std::string& text) {
    std::string safe = "\"";
    for (const char c : text) {
        if (c == '"' || c == '\\') safe += '\\';
        if (c == '\n')
            safe += "\\n";
        else
            safe += c;
    }
    return safe + '"';
}

/// One kind of host; names of nodes begin with its number, as those of others look the same.
class Cluster {
public:
    Cluster(const Host& host, std::size_t number)
        : host_(host), labels_(device_labels(host)), prefix_(fmt::format("h{}", number)) {}

    std::string draw(const std::string& title) {
        page_ += fmt::format("  subgraph cluster_{} {{\n    label={};\n", prefix_, quoted(title));
        const std::set<int> with_devices = nodes_with_devices();
        for (const NumaNode& node : host_.numa_nodes)
            if (!node.cores.empty() || !node.kind.empty() || with_devices.contains(node.os_index))
                draw_numa_node(node);
        for (std::size_t i = 0; i < host_.pcie_switches.size(); ++i) {
            const PcieSwitch& part = host_.pcie_switches[i];
            box(switch_name(static_cast<int>(i)), "PCIe switch\n" + part.pci_address, "wheat");
            hang(switch_name(static_cast<int>(i)), part.above, part.numa_node, part.link);
        }
        for (std::size_t i = 0; i < host_.devices.size(); ++i)
            draw_device(static_cast<int>(i), host_.devices[i]);
        draw_sockets();
        for (const SwitchLink& link : host_.switch_links)
            edge(switch_name(link.a), switch_name(link.b), "", "constraint=false");
        for (const Link& link : host_.links)
            edge(name_of(link.a), name_of(link.b), in_GBps(bandwidth_GBps_of(link, host_)),
                 fmt::format("color=darkgreen, penwidth={}, constraint=false", 1 + link.count));
        return page_ + "  }\n";
    }

private:
    void box(const std::string& name, const std::string& label, const std::string& colour) {
        page_ += fmt::format("    {} [label={}, fillcolor={}];\n", name, quoted(label), colour);
    }

    void edge(const std::string& a, const std::string& b, const std::string& label,
              const std::string& looks) {
        page_ += fmt::format("    {} -- {} [label={}{}{}];\n", a, b, quoted(label),
                             looks.empty() ? "" : ", ", looks);
    }

    void draw_numa_node(const NumaNode& node) {
        nodes_.insert(node.os_index);
        std::string about = node.kind;
        const auto add = [&](const std::string& part) {
            about += (about.empty() ? "" : ", ") + part;
        };
        if (!node.cores.empty()) add(fmt::format("{} cores", node.cores.size()));
        if (node.memory.count > 0) add(in_binary_units(node.memory));
        box(node_name(node.os_index),
            fmt::format("NUMA node {}{}{}", node.os_index, about.empty() ? "" : "\n", about),
            "aliceblue");
    }

    std::set<int> nodes_with_devices() const {
        std::set<int> nodes;
        for (const Device& device : host_.devices)
            if (device.numa_node) nodes.insert(*device.numa_node);
        for (const PcieSwitch& pcie_switch : host_.pcie_switches)
            if (pcie_switch.numa_node) nodes.insert(*pcie_switch.numa_node);
        for (const Link& link : host_.links)
            for (const LinkEnd& end : {link.a, link.b})
                if (end.kind == LinkEnd::Kind::numa_node) nodes.insert(end.index);
        return nodes;
    }

    void draw_device(int index, const Device& device) {
        const std::string name = device_name(index);
        std::string label = at(labels_, index);
        if (!device.pci_address.empty()) label += " " + device.pci_address;
        label += "\n" + (device.model.empty() ? device.pci_id : device.model);
        if (const std::string ports = ports_text(device); !ports.empty()) label += "\n" + ports;
        box(name, label,
            device.kind == DeviceKind::gpu   ? "honeydew"
            : device.kind == DeviceKind::nic ? "lightblue"
                                             : "darkseagreen");
        hang(name, device.above, device.numa_node, device.link);
    }

    void hang(const std::string& name, std::optional<int> above, std::optional<int> node,
              PcieLink link) {
        const std::string speed = link == PcieLink{} ? "" : in_GBps(pcie_GBps(link));
        if (above)
            edge(switch_name(*above), name, speed, "");
        else if (node && nodes_.contains(*node))
            edge(node_name(*node), name, speed, "");
    }

    // Each to the next: enough to keep them in a row.
    void draw_sockets() {
        std::string before;
        for (const int node : nodes_) {
            if (!before.empty())
                edge(before, node_name(node),
                     host_.cpu == CpuIdentity{} ? "" : in_GBps(socket_GBps(host_.cpu)),
                     "style=dashed, constraint=false");
            before = node_name(node);
        }
    }

    std::string node_name(int node) const { return fmt::format("{}_numa{}", prefix_, node); }
    std::string switch_name(int index) const { return fmt::format("{}_switch{}", prefix_, index); }
    std::string device_name(int index) const { return fmt::format("{}_device{}", prefix_, index); }
    std::string name_of(const LinkEnd& end) const {
        return end.kind == LinkEnd::Kind::device ? device_name(end.index) : node_name(end.index);
    }

    const Host& host_;
    std::vector<std::string> labels_;
    std::string prefix_, page_;
    std::set<int> nodes_;
};

}  // namespace

std::string to_dot(const Machine& raw) {
    const Machine machine = printable(raw);
    std::string page =
        "graph machine {\n  node [shape=box, style=filled, fontname=Helvetica, fontsize=10];\n"
        "  edge [fontname=Helvetica, fontsize=9];\n";
    const auto groups = alike_hosts(raw);
    for (std::size_t i = 0; i < groups.size(); ++i)
        page += Cluster(at(machine.hosts, groups[i].front()), i)
                    .draw(names_of_alike(machine, groups[i]));
    if (const std::string fabrics = fabrics_text(machine); !fabrics.empty())
        page += "  label=" + quoted(fabrics) + ";\n";
    return page + "}\n";
}

}  // namespace tutti
