// SPDX-License-Identifier: Apache-2.0
#include "topology/import/pcie_tree.hpp"

#include <algorithm>
#include <numeric>
#include <tuple>

#include "base/index.hpp"
#include "base/source.hpp"

namespace tutti {
namespace {

std::vector<int> new_positions(const std::vector<std::int64_t>& wanted) {
    std::vector<int> sequence(wanted.size());
    std::iota(sequence.begin(), sequence.end(), 0);
    std::ranges::stable_sort(sequence, {}, [&](int part) { return at(wanted, part); });
    std::vector<int> now_at(wanted.size());
    for (std::size_t i = 0; i < sequence.size(); ++i) at(now_at, sequence[i]) = static_cast<int>(i);
    return now_at;
}

template <class Part>
std::vector<Part> moved(const std::vector<Part>& parts, const std::vector<int>& now_at) {
    std::vector<Part> ordered(parts.size());
    for (std::size_t i = 0; i < parts.size(); ++i) at(ordered, now_at[i]) = parts[i];
    return ordered;
}

bool follow_their_parents(const std::vector<PcieSwitch>& switches, const std::vector<int>& now_at) {
    for (std::size_t i = 0; i < switches.size(); ++i)
        if (switches[i].above && at(now_at, *switches[i].above) > now_at[i]) return false;
    return true;
}

}  // namespace

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
    std::erase_if(host.switch_links,
                  [&](const SwitchLink& link) { return !busy[link.a] || !busy[link.b]; });
    for (SwitchLink& link : host.switch_links) link = {now_at[link.a], now_at[link.b]};
}

std::int64_t gpu_number(const Device& device, std::initializer_list<std::string_view> words) {
    if (device.kind == DeviceKind::gpu)
        for (const std::string_view word : words)
            for (const std::string& name : device.names)
                if (name.starts_with(word))
                    if (const auto number = decimal_number(name.substr(word.size())))
                        return *number;
    return WantedOrder::last;
}

std::vector<int> put_gpus_in_order(Host& host, const std::vector<std::int64_t>& numbers) {
    std::vector<int> positions;
    for (std::size_t i = 0; i < host.devices.size(); ++i)
        if (host.devices[i].kind == DeviceKind::gpu) positions.push_back(static_cast<int>(i));
    std::vector<int> gpus = positions;
    std::ranges::stable_sort(gpus, {}, [&](int gpu) {
        const std::string& address = at(host.devices, gpu).pci_address;  // its length varies
        return std::tuple(at(numbers, gpu), address.size(), address);
    });
    WantedOrder wanted{.devices = std::vector<std::int64_t>(host.devices.size()),
                       .switches = std::vector(host.pcie_switches.size(), WantedOrder::last)};
    std::iota(wanted.devices.begin(), wanted.devices.end(), 0);
    for (std::size_t i = 0; i < gpus.size(); ++i) at(wanted.devices, gpus[i]) = positions[i];
    return put_in_order(host, wanted);
}

void place_on_only_numa_node(Host& host) {
    if (host.numa_nodes.size() != 1) return;
    const int node = host.numa_nodes.front().os_index;
    for (Device& device : host.devices) device.numa_node = node;
    for (PcieSwitch& pcie_switch : host.pcie_switches) pcie_switch.numa_node = node;
}

std::vector<int> put_in_order(Host& host, const WantedOrder& wanted) {
    const std::vector<int> switch_at = new_positions(wanted.switches);
    if (follow_their_parents(host.pcie_switches, switch_at)) {
        host.pcie_switches = moved(host.pcie_switches, switch_at);
        for (PcieSwitch& bridge : host.pcie_switches)
            if (bridge.above) bridge.above = at(switch_at, *bridge.above);
        for (Device& device : host.devices)
            if (device.above) device.above = at(switch_at, *device.above);
    }
    const std::vector<int> device_at = new_positions(wanted.devices);
    host.devices = moved(host.devices, device_at);
    return device_at;
}

}  // namespace tutti
