// SPDX-License-Identifier: Apache-2.0
#include "topology/import/pcie_tree.hpp"

#include "base/index.hpp"

namespace tutti {

void drop_idle_switches(Host& host) {
    auto& switches = host.pcie_switches;
    std::vector<bool> busy(switches.size());
    for (const Device& device : host.devices)
        if (device.above) busy[*device.above] = true;
    for (std::size_t i = switches.size(); i-- > 0;)  // from the leaves upwards
        if (busy[i] && switches[i].above) busy[*switches[i].above] = true;

    std::vector<int> now_at(switches.size());
    std::vector<PcieSwitch> remaining;
    for (std::size_t i = 0; i < switches.size(); ++i) {
        if (!busy[i]) continue;
        now_at[i] = int_size(remaining);
        if (switches[i].above) switches[i].above = now_at[*switches[i].above];
        remaining.push_back(std::move(switches[i]));
    }
    switches = std::move(remaining);
    for (Device& device : host.devices)
        if (device.above) device.above = now_at[*device.above];
}

void place_on_only_numa_node(Host& host) {
    if (host.numa_nodes.size() != 1) return;
    const int node = host.numa_nodes.front().os_index;
    for (Device& device : host.devices) device.numa_node = node;
    for (PcieSwitch& pcie_switch : host.pcie_switches) pcie_switch.numa_node = node;
}

}  // namespace tutti
