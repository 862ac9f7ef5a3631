// SPDX-License-Identifier: Apache-2.0
#include "topology/machine/machine.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>

namespace tutti {
namespace {

std::string_view suffix(CacheKind kind) {
    switch (kind) {
        case CacheKind::data:
            return "d";
        case CacheKind::instruction:
            return "i";
        case CacheKind::unified:
        case CacheKind::memory_side:
            break;
    }
    return "";
}

}  // namespace

std::string shared_fabric(const Machine& machine) {
    if (machine.hosts.size() < 2) return "";
    const std::string& first = machine.hosts.front().nvlink_fabric;
    return std::ranges::all_of(machine.hosts,
                               [&](const Host& host) { return host.nvlink_fabric == first; })
               ? first
               : "";
}

std::string short_name(const Cache& cache) {
    if (cache.kind == CacheKind::memory_side) return "memory-side cache";
    return fmt::format("L{}{}", cache.level, suffix(cache.kind));
}

std::string short_name(DeviceKind kind) {
    switch (kind) {
        case DeviceKind::gpu:
            return "GPU";
        case DeviceKind::nic:
            return "NIC";
        case DeviceKind::nvswitch:
            break;
    }
    return "NVSwitch";
}

std::string short_name(LinkKind kind) {
    switch (kind) {
        case LinkKind::nvlink:
            return "NVLink";
        case LinkKind::xgmi:
            return "xGMI";
        case LinkKind::c2c:
            break;
    }
    return "C2C";
}

std::vector<std::string> device_labels(const Host& host) {
    std::map<DeviceKind, int> seen;
    std::vector<std::string> labels;
    for (const Device& device : host.devices)
        labels.push_back(fmt::format("{}{}", short_name(device.kind), seen[device.kind]++));
    return labels;
}

}  // namespace tutti
