// SPDX-License-Identifier: Apache-2.0
#include "topology/detect/detect.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "base/error.hpp"
#include "topology/detect/nvml.hpp"
#include "topology/detect/sysfs_devices.hpp"
#include "topology/detect/sysfs_host.hpp"
#include "topology/detect/ucx_resources.hpp"
#include "topology/machine/doubts.hpp"

namespace tutti {
namespace {

using Notes = std::vector<std::string>;

void append(Notes& notes, const Notes& more) {
    notes.insert(notes.end(), more.begin(), more.end());
}

// A NUMA node's file lacks memory that was added to a virtual machine later.
void take_all_memory(Host& host, const HostFacts& facts) {
    if (host.numa_nodes.size() != 1) return;
    Bytes& memory = host.numa_nodes.front().memory;
    memory = std::max(memory, facts.memory);
}

Host look() {
    const HostFacts facts = host_facts();
    Host host = with_nvidia_driver(detect_structure());
    host.name = facts.name;
    take_all_memory(host, facts);
    const UcxResources ucx = ucx_resources();
    host.transports = ucx.transports;

    Notes notes = blind_spots(host, facts);
    append(notes, host.not_seen);  // notes on accelerators and of NVIDIA's driver
    if (const auto missing = interfaces_not_in_sysfs("/"); !missing.empty())
        notes.push_back(
            fmt::format("NICs of {}: /sys shows another network namespace; mount it again here",
                        fmt::join(missing, ", ")));
    if (host.transports.empty())
        notes.push_back(fmt::format("the transports of UCX: {}", ucx.why_none));
    host.not_seen = std::move(notes);
    note_impossible_speeds(host);
    return host;
}

bool is_virtual(const Device& device) {
    return device.kind == DeviceKind::nic && device.model == virtual_interface;
}

std::string interfaces(const Host& host) {
    std::string names;
    for (const Device& device : host.devices)
        if (is_virtual(device)) names += (names.empty() ? "" : ", ") + device.names.at(0);
    return names;
}

// Virtual interfaces never have a speed and are noted elsewhere.
bool has_unknown_speed(const Device& device) {
    return device.kind == DeviceKind::nic && !is_virtual(device) && !device.names.empty() &&
           std::ranges::all_of(device.ports, [](const Port& port) { return port.gigabits <= 0; });
}

bool is_amd_gpu(const Device& device) {
    return device.kind == DeviceKind::gpu && device.pci_id.starts_with("1002:");
}

}  // namespace

const Host& detect_host() {
    static const Host host = look();
    return host;
}

Host detect_host_in(const std::filesystem::path& root) {
    if (!std::filesystem::exists(root / "sys") && !std::filesystem::exists(root / "proc"))
        throw Error{"'" + root.string() +
                    "' has neither sys nor proc; use a folder with copies of both"};
    const HostFacts facts = host_facts(root);
    Host host = read_sysfs_host(root);
    host.name = sysfs::first_line(root / "proc/sys/kernel/hostname").value_or("");
    take_all_memory(host, facts);
    Notes notes = blind_spots(host, facts);
    append(notes, host.not_seen);  // accelerators
    notes.push_back(
        "what only drivers and libraries report (NVLink, UCX), as this is a copy of files");
    host.not_seen = std::move(notes);
    note_impossible_speeds(host);
    return host;
}

Notes blind_spots(const Host& host, const HostFacts& facts) {
    const auto placed = [](const Device& device) {
        return device.numa_node.has_value() || is_virtual(device) || device.pci_address.empty();
    };
    const auto unnamed = [](const Device& device) {
        return device.kind == DeviceKind::nic && device.names.empty();
    };
    const auto narrow = [](const Device& device) {
        return device.kind == DeviceKind::gpu && device.link == PcieLink{};
    };
    Notes notes;
    if (!facts.virtualisation.empty())
        notes.push_back("the real caches, NUMA nodes and PCI tree: this machine is virtual (" +
                        facts.virtualisation + ")");
    if (host.caches.empty()) notes.push_back("caches: the kernel lists none");
    if (host.devices.empty()) notes.push_back("GPUs and NICs: the visible PCI bus has none");
    if (const std::string names = interfaces(host); !names.empty())
        notes.push_back("the NIC of " + names + ", and its speed: the interface is virtual" +
                        (facts.container.empty() ? "" : " (container: " + facts.container + ")"));
    if (!std::ranges::all_of(host.devices, placed))
        notes.push_back("the NUMA node of some devices: the firmware does not report it");
    if (std::ranges::any_of(host.devices, unnamed))
        notes.push_back("names and speeds of some NICs: " +
                        (facts.container.empty()
                             ? std::string("no driver shows their interfaces here")
                             : "they are outside this container (" + facts.container + ")"));
    if (std::ranges::any_of(host.devices, has_unknown_speed))
        notes.push_back("the speed of some NICs: no link, or the driver does not report it");
    if (std::ranges::any_of(host.devices, narrow))
        notes.push_back("the PCIe speed of some GPUs: assumed as generation 3 with 16 lanes");
    if (std::ranges::count_if(host.devices, is_amd_gpu) > 1 && host.links.empty())
        notes.push_back("xGMI links between the GPUs: the kernel's compute driver lists none");
    return notes;
}

}  // namespace tutti
