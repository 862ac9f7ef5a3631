// SPDX-License-Identifier: Apache-2.0
#include "topology/detect/sysfs_pci.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <set>

namespace tutti {
namespace {

using sysfs::Path;

// "0x10de" as 0x10de; 0 where there is no such file.
int hexadecimal(const Path& file) {
    const std::string text = sysfs::first_line(file).value_or("0");
    return static_cast<int>(std::strtol(text.c_str(), nullptr, 16));
}

// "0000:17:00.0", with a domain of four digits or more.
bool is_pci_address(const std::string& name) {
    const auto length = name.size();
    if (length < 12 || name.find_first_not_of("0123456789abcdef:.") != std::string::npos)
        return false;
    return name[length - 2] == '.' && name[length - 5] == ':' && name[length - 8] == ':';
}

// The names of the bridges are folders on the way to the device.
std::vector<std::string> bridges_above(const Path& folder) {
    std::vector<std::string> bridges;
    for (const Path& part : folder.parent_path())
        if (is_pci_address(part.string())) bridges.push_back(part.string());
    return bridges;
}

bool has_interfaces(const Path& device) {
    return !sysfs::entries(device / "net").empty() ||
           !sysfs::entries(device / "infiniband").empty();
}

// "16.0 GT/s PCIe", "8 GT/s", "Unknown".
double gigatransfers(const Path& device) {
    const std::string text = sysfs::first_line(device / "max_link_speed").value_or("0");
    return std::strtod(text.c_str(), nullptr);
}

// A width that is no width of PCIe (255) is unknown.
int lanes(const Path& device) {
    const auto width = sysfs::number(device / "max_link_width").value_or(0);
    return width > 0 && width <= 32 ? static_cast<int>(width) : 0;
}

// Where one end is unknown, the other counts.
template <class Number>
Number least_known(Number a, Number b) {
    return a > 0 && b > 0 ? std::min(a, b) : std::max(a, b);
}

}  // namespace

std::vector<PciFunction> read_pci_functions(const Path& root) {
    const Path bus = root / "sys/bus/pci/devices";
    std::vector<PciFunction> functions;
    for (const std::string& address : sysfs::entries(bus)) {
        std::error_code broken;
        const Path folder = std::filesystem::canonical(bus / address, broken);
        if (broken || has_interfaces(folder / "physfn")) continue;
        functions.push_back({.address = address,
                             .folder = folder,
                             .vendor = hexadecimal(folder / "vendor"),
                             .device = hexadecimal(folder / "device"),
                             .device_class = hexadecimal(folder / "class") >> 8,
                             .bridges = bridges_above(folder)});
    }
    return functions;
}

std::string pci_id(const PciFunction& function) {
    if (function.vendor == 0) return "";
    return fmt::format("{:04x}:{:04x}", function.vendor, function.device);
}

std::string subsystem_id(const PciFunction& function) {
    const int vendor = hexadecimal(function.folder / "subsystem_vendor");
    if (vendor == 0) return "";
    return fmt::format("{:04x}:{:04x}", vendor, hexadecimal(function.folder / "subsystem_device"));
}

PcieLink max_pcie_link(const PciFunction& function) {
    PcieLink link{gigatransfers(function.folder), lanes(function.folder)};
    if (function.bridges.empty()) return link;
    const Path port = function.folder.parent_path();
    return {least_known(link.gigatransfers, gigatransfers(port)),
            least_known(link.lanes, lanes(port))};
}

std::vector<std::string> switches_above(const PciFunction& function) {
    std::vector<std::string> switches;
    const auto& bridges = function.bridges;
    for (std::size_t passed = 2; passed <= bridges.size(); passed += 2)
        switches.push_back(bridges[bridges.size() - passed]);
    return switches;
}

std::optional<int> numa_node_of(const Path& device, const Host& host) {
    const auto said = sysfs::number(device / "numa_node");  // -1: the firmware does not say
    const auto is_it = [&](const NumaNode& node) { return node.os_index == said; };
    if (std::ranges::any_of(host.numa_nodes, is_it)) return static_cast<int>(*said);
    if (host.numa_nodes.size() == 1) return host.numa_nodes.front().os_index;

    std::vector<int> cpus = sysfs::list(device / "local_cpulist");
    if (cpus.empty()) cpus = sysfs::mask(device / "local_cpus");
    std::set<int> near;  // cores
    for (std::size_t core = 0; core < host.cores.size(); ++core)
        if (std::ranges::find_first_of(host.cores[core].threads, cpus) !=
            host.cores[core].threads.end())
            near.insert(static_cast<int>(core));
    for (const NumaNode& node : host.numa_nodes)
        if (!near.empty() && std::ranges::equal(near, node.cores)) return node.os_index;
    return std::nullopt;
}

}  // namespace tutti
