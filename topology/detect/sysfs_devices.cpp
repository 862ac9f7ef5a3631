// SPDX-License-Identifier: Apache-2.0
#include "topology/detect/sysfs_devices.hpp"

#include <algorithm>

#include "topology/detect/sysfs_nics.hpp"
#include "topology/detect/sysfs_pci.hpp"
#include "topology/detect/sysfs_xgmi.hpp"

namespace tutti {
namespace {

using sysfs::Path;

constexpr int amd = 0x1002, nvidia = 0x10de, intel = 0x8086;

// NVIDIA's driver lists its GPUs also where the bus does not say who made them.
bool has_nvidia_driver(const Path& root, const PciFunction& function) {
    std::error_code none;
    return std::filesystem::exists(root / "proc/driver/nvidia/gpus" / function.address, none);
}

std::optional<DeviceKind> kind_of(const Path& root, const PciFunction& function) {
    const int vendor = has_nvidia_driver(root, function) ? nvidia : function.vendor;
    return device_kind(function.device_class, vendor);
}

// Position of each switch that leads to the function; adds those that are not there yet, from the
// root downwards. Gives the innermost.
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
        above = static_cast<int>(host.pcie_switches.size());
        host.pcie_switches.push_back(found);
    }
    return above;
}

}  // namespace

std::optional<DeviceKind> device_kind(int pci_class, int pci_vendor) {
    constexpr int network = 0x02, display = 0x03, accelerator = 0x12, other_display = 0x0380;
    constexpr int other_bridge = 0x0680, infiniband = 0x0c06;
    const int family = pci_class >> 8;
    if (family == network || pci_class == infiniband) return DeviceKind::nic;
    if (pci_class == other_bridge && pci_vendor == nvidia) return DeviceKind::nvswitch;
    if (family != display && family != accelerator) return std::nullopt;
    if (pci_vendor == amd || pci_vendor == nvidia) return DeviceKind::gpu;
    // Intel's VGA controllers are part of the processor.
    const bool computes = family == accelerator || pci_class == other_display;
    return pci_vendor == intel && computes ? std::optional(DeviceKind::gpu) : std::nullopt;
}

Host with_sysfs_devices(Host host, const Path& root) {
    const std::vector<PciFunction> functions = read_pci_functions(root);
    bool has_nic = false;
    for (const PciFunction& function : functions) {
        const auto kind = kind_of(root, function);
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
    for (Device& device : read_virtual_nics(root, has_nic)) host.devices.push_back(device);
    if (host.numa_nodes.size() == 1)
        for (Device& device : host.devices) device.numa_node = host.numa_nodes.front().os_index;
    return with_sysfs_xgmi(std::move(host), root);
}

}  // namespace tutti
