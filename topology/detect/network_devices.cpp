// SPDX-License-Identifier: Apache-2.0
#include "topology/detect/network_devices.hpp"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <netinet/in.h>
#include <sched.h>

#include <algorithm>
#include <bit>

#include "topology/detect/host_facts.hpp"
#include "topology/detect/sysfs.hpp"

namespace tutti {
namespace {

in_addr_t address_in(const sockaddr* any) {
    return reinterpret_cast<const sockaddr_in*>(any)->sin_addr.s_addr;
}

}  // namespace

NetworkOfInterface networks_of_interfaces() {
    NetworkOfInterface networks;
    ifaddrs* all = nullptr;
    if (getifaddrs(&all) != 0) return networks;
    for (const ifaddrs* one = all; one != nullptr; one = one->ifa_next) {
        if (one->ifa_addr == nullptr || one->ifa_netmask == nullptr ||
            one->ifa_addr->sa_family != AF_INET)
            continue;
        const in_addr_t mask = address_in(one->ifa_netmask);
        const in_addr network{address_in(one->ifa_addr) & mask};
        char text[INET_ADDRSTRLEN] = {};
        inet_ntop(AF_INET, &network, text, sizeof text);
        networks[one->ifa_name] = std::string(text) + "/" + std::to_string(std::popcount(mask));
    }
    freeifaddrs(all);
    return networks;
}

std::vector<NetworkDevice> network_devices(const std::filesystem::path& root,
                                           const NetworkOfInterface& networks) {
    if (!sysfs::entries(root / "sys/class/infiniband").empty()) return {};
    std::vector<NetworkDevice> devices;
    const auto folder = root / "sys/class/net";
    for (const std::string& name : sysfs::entries(folder)) {
        const auto at = networks.find(name);
        if (name == "lo" || at == networks.end()) continue;
        NetworkDevice device{.name = name, .network = at->second};
        device.is_virtual = sysfs::entries(folder / name / "device").empty();
        device.is_bridge = !sysfs::entries(folder / name / "bridge").empty();
        const auto state = sysfs::first_line(folder / name / "operstate");
        if (state != "up" && !(device.is_virtual && state == "unknown")) continue;
        const auto node = sysfs::number(folder / name / "device/numa_node");
        if (node && *node >= 0) device.node = static_cast<int>(*node);
        device.mbit_per_s = std::max(0L, sysfs::number(folder / name / "speed").value_or(0));
        devices.push_back(device);
    }
    return devices;
}

std::optional<int> node_of_this_rank() {
    unsigned cpu = 0, node = 0;
    if (getcpu(&cpu, &node) != 0) return std::nullopt;
    const auto of_node =
        sysfs::list("/sys/devices/system/node/node" + std::to_string(node) + "/cpulist");
    const auto usable = usable_cpus();
    if (!std::includes(of_node.begin(), of_node.end(), usable.begin(), usable.end()))
        return std::nullopt;
    return static_cast<int>(node);
}

std::string near_devices(const std::vector<NetworkDevice>& devices, std::optional<int> node) {
    if (!node) return "";
    long fastest = 0;
    for (const NetworkDevice& device : devices)
        if (!device.is_virtual) fastest = std::max(fastest, device.mbit_per_s);
    std::string names;
    bool leaves_one_out = false;
    for (const NetworkDevice& device : devices) {
        // There is no choice if a network has no near device, or only a slow one.
        const auto is_near_twin = [&](const NetworkDevice& other) {
            return !other.is_virtual && other.network == device.network &&
                   other.mbit_per_s == fastest && other.node == node;
        };
        const bool has_near_twin = std::ranges::any_of(devices, is_near_twin);
        if (device.is_virtual && has_near_twin) continue;
        if (device.mbit_per_s != fastest || !device.node || !has_near_twin) return "";
        if (device.node == node)
            names.append(names.empty() ? "" : ",").append(device.name);
        else
            leaves_one_out = true;
    }
    return leaves_one_out ? names : "";
}

std::map<std::string, std::string> equal_devices(const std::vector<NetworkDevice>& devices) {
    const bool are_virtual = std::ranges::all_of(devices, &NetworkDevice::is_virtual);
    const auto leads_to_hosts = [](const NetworkDevice& device) {
        return !device.is_bridge && !device.network.starts_with("169.254.");
    };
    const auto counts = [&](const NetworkDevice& device) {
        return device.is_virtual == are_virtual && leads_to_hosts(device);
    };
    long fastest = 0;
    for (const NetworkDevice& device : devices)
        if (counts(device)) fastest = std::max(fastest, device.mbit_per_s);
    std::map<std::string, std::string> name_by_network;
    for (const NetworkDevice& device : devices)
        if (counts(device) && device.mbit_per_s == fastest)
            name_by_network.try_emplace(device.network, device.name);
    const auto may_be_better = [&](const NetworkDevice& device) {
        const bool may_be_as_fast = device.mbit_per_s == 0 || device.mbit_per_s >= fastest;
        return leads_to_hosts(device) && !counts(device) && may_be_as_fast &&
               !name_by_network.contains(device.network);
    };
    if (std::ranges::any_of(devices, may_be_better)) return {};
    return name_by_network;
}

}  // namespace tutti
