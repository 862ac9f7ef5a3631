// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <cstdlib>

#include "topology/sysfs_host.hpp"

namespace tutti {
namespace {

using sysfs::Path;

// "0x10de" as 0x10de; 0 where there is no such file.
int hexadecimal(const Path& file) {
    const std::string text = sysfs::first_line(file).value_or("0");
    return static_cast<int>(std::strtol(text.c_str(), nullptr, 16));
}

// The interfaces of a virtio NIC hang one folder deeper than those of a real one.
std::vector<std::string> interface_names(const Path& device) {
    std::vector<Path> folders{device / "net", device / "infiniband"};
    for (const std::string& entry : sysfs::entries(device))
        if (entry.starts_with("virtio")) folders.push_back(device / entry / "net");
    std::vector<std::string> names;
    for (const Path& folder : folders)
        for (const std::string& name : sysfs::entries(folder)) names.push_back(name);
    return names;
}

}  // namespace

std::optional<DeviceKind> device_kind(int pci_class, int pci_vendor) {
    constexpr int network = 0x02, display = 0x03, accelerator = 0x12;
    constexpr int amd = 0x1002, nvidia = 0x10de, intel = 0x8086;
    constexpr int other_bridge = 0x0680;
    const int family = pci_class >> 8;
    if (pci_class == other_bridge && pci_vendor == nvidia) return DeviceKind::nvswitch;
    if (family == network) return DeviceKind::nic;
    if (family != display && family != accelerator) return std::nullopt;
    if (pci_vendor != amd && pci_vendor != nvidia && pci_vendor != intel) return std::nullopt;
    return DeviceKind::gpu;
}

std::vector<Device> read_sysfs_devices(const Path& root) {
    const Path bus = root / "sys/bus/pci/devices";
    std::vector<Device> devices;
    for (const std::string& address : sysfs::entries(bus)) {
        const Path folder = bus / address;
        const int vendor = hexadecimal(folder / "vendor");
        const auto kind = device_kind(hexadecimal(folder / "class") >> 8, vendor);
        if (!kind) continue;
        const auto node = sysfs::number(folder / "numa_node");  // -1: the firmware does not say
        devices.push_back(
            {.kind = *kind,
             .pci_address = address,
             .pci_id = fmt::format("{:04x}:{:04x}", vendor, hexadecimal(folder / "device")),
             .names = interface_names(folder),
             .numa_node =
                 node && *node >= 0 ? std::optional(static_cast<int>(*node)) : std::nullopt});
    }
    return devices;
}

}  // namespace tutti
