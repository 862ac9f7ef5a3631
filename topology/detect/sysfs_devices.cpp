// SPDX-License-Identifier: Apache-2.0
#include "topology/detect/sysfs_devices.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <set>
#include <string>
#include <vector>

#include "base/index.hpp"
#include "topology/detect/sysfs.hpp"

namespace tutti {
namespace {

using sysfs::Path;

// One function of a PCI device in /sys. Unknown numbers are 0.
struct PciFunction {
    std::string address;  // "0000:17:00.0"
    sysfs::Path folder;   // in the device tree
    int vendor = 0;
    int device = 0;
    int device_class = 0;                   // class and subclass: 0x0302
    std::vector<std::string> bridges = {};  // ports above it, the root port first
};

// Reads "0x10de"; 0 if the file is missing.
int hexadecimal(const Path& file) {
    const std::string text = sysfs::first_line(file).value_or("0");
    return static_cast<int>(std::strtol(text.c_str(), nullptr, 16));
}

// Recognises "0000:17:00.0" with a domain of four or more digits.
bool is_pci_address(const std::string& name) {
    const auto length = name.size();
    if (length < 12 || name.find_first_not_of("0123456789abcdef:.") != std::string::npos)
        return false;
    return name[length - 2] == '.' && name[length - 5] == ':' && name[length - 8] == ':';
}

// Bridges are folders in the path of the device.
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

// Reads "16.0 GT/s PCIe", "8 GT/s" or "Unknown".
double gigatransfers(const Path& device) {
    return sysfs::leading_number(device / "max_link_speed");
}

// Treats an impossible width (255) as unknown.
int lanes(const Path& device) {
    const auto width = sysfs::number(device / "max_link_width").value_or(0);
    return width > 0 && width <= 32 ? static_cast<int>(width) : 0;
}

// Returns the smaller number; if one is unknown (0), the other.
template <class Number>
Number least_known(Number a, Number b) {
    return a > 0 && b > 0 ? std::min(a, b) : std::max(a, b);
}

// Reads the whole bus in the order of addresses, without virtual functions of a device whose
// interfaces are visible.
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

// Returns "vendor:device" or "" if unknown.
std::string pci_id(const PciFunction& function) {
    if (function.vendor == 0) return "";
    return fmt::format("{:04x}:{:04x}", function.vendor, function.device);
}

// Returns the id of the board or chip that contains it.
std::string subsystem_id(const PciFunction& function) {
    const int vendor = hexadecimal(function.folder / "subsystem_vendor");
    if (vendor == 0) return "";
    return fmt::format("{:04x}:{:04x}", vendor, hexadecimal(function.folder / "subsystem_device"));
}

// Returns the maximum that the function and the port above it both support. The current speed would
// be too low: idle GPUs run at generation 1.
PcieLink max_pcie_link(const PciFunction& function) {
    PcieLink link{gigatransfers(function.folder), lanes(function.folder)};
    if (function.bridges.empty()) return link;
    const Path port = function.folder.parent_path();
    return {least_known(link.gigatransfers, gigatransfers(port)),
            least_known(link.lanes, lanes(port))};
}

// Returns the upstream ports of the switches above a function, the nearest first. Each switch has
// two bridges on the path, its upstream and a downstream port; the first bridge is a root port.
// NCCL counts in the same way.
std::vector<std::string> switches_above(const PciFunction& function) {
    std::vector<std::string> switches;
    const auto& bridges = function.bridges;
    for (std::size_t passed = 2; passed <= bridges.size(); passed += 2)
        switches.push_back(bridges[bridges.size() - passed]);
    return switches;
}

// Finds the NUMA node of a device by the firmware's number or by the cores near it.
std::optional<int> numa_node_of(const Path& device, const Host& host) {
    const auto said = sysfs::number(device / "numa_node");  // -1: unknown to the firmware
    const auto is_it = [&](const NumaNode& node) { return node.os_index == said; };
    if (std::ranges::any_of(host.numa_nodes, is_it)) return static_cast<int>(*said);
    if (host.numa_nodes.size() == 1) return host.numa_nodes.front().os_index;

    const std::vector<int> cpus =
        sysfs::list_or_mask(device / "local_cpulist", device / "local_cpus");
    std::set<int> near;  // cores
    for (std::size_t core = 0; core < host.cores.size(); ++core)
        if (std::ranges::find_first_of(host.cores[core].threads, cpus) !=
            host.cores[core].threads.end())
            near.insert(static_cast<int>(core));
    for (const NumaNode& node : host.numa_nodes)
        if (!near.empty() && std::ranges::equal(near, node.cores)) return node.os_index;
    return std::nullopt;
}

constexpr int amd = 0x1002, nvidia = 0x10de, intel = 0x8086;

// NVIDIA's driver lists its GPUs even if the bus does not show their vendor.
bool has_nvidia_driver(const Path& root, const PciFunction& function) {
    std::error_code none;
    return std::filesystem::exists(root / "proc/driver/nvidia/gpus" / function.address, none);
}

std::optional<DeviceKind> kind_of(const Path& root, const PciFunction& function) {
    const int vendor = has_nvidia_driver(root, function) ? nvidia : function.vendor;
    return device_kind(function.device_class, vendor);
}

// Adds the missing switches above a function, from the root downwards. Returns the position of the
// innermost one.
std::optional<int> place_below_switches(Host& host, const std::vector<PciFunction>& functions,
                                        const PciFunction& function) {
    std::vector<std::string> switches = switches_above(function);
    std::ranges::reverse(switches);
    std::optional<int> above;
    for (const std::string& address : switches) {
        const auto known = std::ranges::find(host.pcie_switches, address, &PcieSwitch::pci_address);
        if (known != host.pcie_switches.end()) {
            above = static_cast<int>(known - host.pcie_switches.begin());
            continue;
        }
        PcieSwitch found{.pci_address = address, .above = above};
        const auto port = std::ranges::find(functions, address, &PciFunction::address);
        if (port != functions.end()) {
            found.pci_id = pci_id(*port);
            found.numa_node = numa_node_of(port->folder, host);
            found.link = max_pcie_link(*port);
            found.subsystem_id = subsystem_id(*port);
        }
        above = int_size(host.pcie_switches);
        host.pcie_switches.push_back(found);
    }
    return above;
}

}  // namespace

std::optional<DeviceKind> device_kind(int pci_class, int pci_vendor) {
    constexpr int network = 0x02, display = 0x03, other_display = 0x0380;
    constexpr int other_bridge = 0x0680, infiniband = 0x0c06;
    const int family = pci_class >> 8;
    if (family == network || pci_class == infiniband) return DeviceKind::nic;
    if (pci_class == other_bridge && pci_vendor == nvidia) return DeviceKind::nvswitch;
    if (family != display && !is_accelerator(pci_class)) return std::nullopt;
    if (pci_vendor == amd || pci_vendor == nvidia) return DeviceKind::gpu;
    // Intel's VGA controllers are part of the processor, its accelerators are FPGAs and NPUs.
    return pci_vendor == intel && pci_class == other_display ? std::optional(DeviceKind::gpu)
                                                             : std::nullopt;
}

bool is_accelerator(int pci_class) { return pci_class >> 8 == 0x12; }

std::string note_on_accelerators(const std::vector<OtherAccelerator>& accelerators) {
    std::string list;
    for (const OtherAccelerator& accelerator : accelerators)
        list += fmt::format("{}{} at {}", list.empty() ? "" : ", ",
                            accelerator.pci_id.empty() ? "one" : accelerator.pci_id,
                            accelerator.pci_address);
    return "accelerators other than GPUs, which are not used here: " + list;
}

Host with_sysfs_devices(Host host, const Path& root) {
    const std::vector<PciFunction> functions = read_pci_functions(root);
    bool has_nic = false;
    std::vector<OtherAccelerator> others;
    for (const PciFunction& function : functions) {
        const auto kind = kind_of(root, function);
        if (!kind && is_accelerator(function.device_class))
            others.push_back({function.address, pci_id(function)});
        if (!kind) continue;
        Device device{.kind = *kind,
                      .pci_address = function.address,
                      .pci_id = pci_id(function),
                      .numa_node = numa_node_of(function.folder, host),
                      .above = place_below_switches(host, functions, function),
                      .link = max_pcie_link(function)};
        if (*kind == DeviceKind::nic) {
            device.names = interface_names(function.folder);
            device.ports = read_ports(function.folder);
            has_nic = has_nic || !device.names.empty();
        }
        host.devices.push_back(device);
    }
    if (!others.empty()) host.not_seen.push_back(note_on_accelerators(others));
    for (Device& device : read_virtual_nics(root, has_nic)) host.devices.push_back(device);
    if (host.numa_nodes.size() == 1)
        for (Device& device : host.devices) device.numa_node = host.numa_nodes.front().os_index;
    return with_sysfs_xgmi(std::move(host), root);
}

}  // namespace tutti
