// SPDX-License-Identifier: Apache-2.0
#include "topology/draw/svg_columns.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/index.hpp"

namespace tutti {
namespace {

using Index = std::optional<int>;

const Device& device_at(const Host& host, int device) { return at(host.devices, device); }

// "0000:17:00" of "0000:17:00.1".
std::string slot_of(const Device& device) {
    return device.pci_address.substr(0, device.pci_address.find('.'));
}

bool belongs_to(const Host& host, const Leaf& leaf, const Device& device) {
    const Device& first = device_at(host, leaf.devices.front());
    return first.kind == DeviceKind::nic && device.kind == DeviceKind::nic &&
           !first.pci_address.empty() && slot_of(first) == slot_of(device) &&
           first.above == device.above;
}

template <class Wanted>
std::vector<Leaf> leaves_where(const Host& host, Wanted wanted) {
    std::vector<Leaf> leaves;
    for (std::size_t i = 0; i < host.devices.size(); ++i) {
        const Device& device = host.devices[i];
        if (device.kind == DeviceKind::nvswitch || !wanted(device)) continue;
        if (!leaves.empty() && belongs_to(host, leaves.back(), device))
            leaves.back().devices.push_back(static_cast<int>(i));
        else
            leaves.push_back({{static_cast<int>(i)}});
    }
    // GPUs together: what joins them beside PCIe has shorter ways then.
    std::stable_partition(leaves.begin(), leaves.end(), [&](const Leaf& leaf) {
        return device_at(host, leaf.devices.front()).kind == DeviceKind::gpu;
    });
    return leaves;
}

bool is_empty(const Branch& branch) { return branch.branches.empty() && branch.leaves.empty(); }

// Without switches below which only NVSwitches hang.
Branch branch_of(const Host& host, int pcie_switch) {
    Branch branch{.pcie_switch = pcie_switch};
    for (std::size_t i = as_size(pcie_switch) + 1; i < host.pcie_switches.size(); ++i)
        if (host.pcie_switches[i].above == Index{pcie_switch}) {
            Branch below = branch_of(host, static_cast<int>(i));
            if (!is_empty(below)) branch.branches.push_back(std::move(below));
        }
    branch.leaves = leaves_where(
        host, [&](const Device& device) { return device.above == Index{pcie_switch}; });
    return branch;
}

// Of a switch that does not say, the node of what hangs below it.
Index node_of(const Host& host, const Branch& branch) {
    if (const Index node = at(host.pcie_switches, branch.pcie_switch).numa_node) return node;
    for (const Leaf& leaf : branch.leaves)
        if (const Index node = device_at(host, leaf.devices.front()).numa_node) return node;
    for (const Branch& below : branch.branches)
        if (const Index node = node_of(host, below)) return node;
    return std::nullopt;
}

void fill(const Host& host, Column& column) {
    for (std::size_t i = 0; i < host.pcie_switches.size(); ++i) {
        if (host.pcie_switches[i].above) continue;
        Branch branch = branch_of(host, static_cast<int>(i));
        if (!is_empty(branch) && node_of(host, branch) == column.numa_node)
            column.branches.push_back(std::move(branch));
    }
    column.leaves = leaves_where(host, [&](const Device& device) {
        return !device.above && device.numa_node == column.numa_node;
    });
}

std::vector<Column> all_columns(const Host& host) {
    std::vector<Column> columns;
    for (const NumaNode& node : host.numa_nodes) {
        columns.push_back({node.os_index, node.cores, node.memory, {}, {}});
        fill(host, columns.back());
    }
    const auto add_if_used = [&](Index node) {
        if (std::ranges::find(columns, node, &Column::numa_node) != columns.end()) return;
        columns.push_back({node, {}, {}, {}, {}});
        fill(host, columns.back());
    };
    for (const Device& device : host.devices) add_if_used(device.numa_node);
    for (const PcieSwitch& pcie_switch : host.pcie_switches) add_if_used(pcie_switch.numa_node);
    std::erase_if(columns, [](const Column& column) {
        return column.cores.empty() && column.branches.empty() && column.leaves.empty();
    });
    // A host of which only cores are known.
    if (columns.empty() && !host.cores.empty()) {
        columns.push_back({});
        for (std::size_t i = 0; i < host.cores.size(); ++i)
            columns.back().cores.push_back(static_cast<int>(i));
    }
    return columns;
}

}  // namespace

std::vector<ColumnGroup> columns_of(const Host& host) {
    std::vector<Column> columns = all_columns(host);
    std::vector<ColumnGroup> groups;
    for (std::size_t i = 0; i < host.packages.size(); ++i) {
        const Package& package = host.packages[i];
        ColumnGroup group;
        group.title =
            fmt::format("package {}{}{}", i, package.model.empty() ? "" : ": ", package.model);
        for (Column& column : columns)
            if (!column.cores.empty() && std::ranges::includes(package.cores, column.cores))
                group.columns.push_back(std::exchange(column, Column{}));
        if (!group.columns.empty()) groups.push_back(std::move(group));
    }
    ColumnGroup rest;
    for (Column& column : columns)
        if (column.numa_node || !column.cores.empty() || !column.branches.empty() ||
            !column.leaves.empty())
            rest.columns.push_back(std::move(column));
    if (!rest.columns.empty()) groups.push_back(std::move(rest));
    return groups;
}

int leaves_below(const Branch& branch) {
    int count = int_size(branch.leaves);
    for (const Branch& below : branch.branches) count += leaves_below(below);
    return std::max(count, 1);
}

int leaves_below(const Column& column) {
    int count = int_size(column.leaves);
    for (const Branch& below : column.branches) count += leaves_below(below);
    return std::max(count, 1);
}

int depth_below(const Branch& branch) {
    int depth = 0;
    for (const Branch& below : branch.branches) depth = std::max(depth, depth_below(below));
    return depth + 1;
}

int depth_below(const Column& column) {
    int depth = 0;
    for (const Branch& below : column.branches) depth = std::max(depth, depth_below(below));
    return depth;
}

}  // namespace tutti
