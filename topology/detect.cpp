// SPDX-License-Identifier: Apache-2.0
#include "topology/detect.hpp"

#include <algorithm>

namespace tutti {

Host detect_host() {
    const HostFacts facts = host_facts();
    Host host = detect_structure();
    host.name = facts.name;
    host.not_seen = blind_spots(host, facts);
    return host;
}

std::vector<std::string> blind_spots(const Host& host, const HostFacts& facts) {
    const auto placed = [](const Device& device) { return device.numa_node.has_value(); };
    const auto unnamed = [](const Device& device) {
        return device.kind == DeviceKind::nic && device.names.empty();
    };
    std::vector<std::string> notes;
    if (!facts.virtualisation.empty())
        notes.push_back("the real caches, NUMA nodes and PCI tree: this machine is virtual (" +
                        facts.virtualisation + ")");
    if (host.caches.empty()) notes.push_back("caches: the kernel lists none");
    if (host.devices.empty()) notes.push_back("GPUs and NICs: none is on a PCI bus shown here");
    if (!std::ranges::all_of(host.devices, placed))
        notes.push_back("the NUMA node of some devices: the firmware does not say");
    if (!facts.container.empty() && std::ranges::any_of(host.devices, unnamed))
        notes.push_back("names of some NICs: outside this container (" + facts.container + ")");
    if (std::ranges::count(host.devices, DeviceKind::gpu, &Device::kind) > 1)
        notes.push_back("links between the GPUs (NVLink, xGMI): only PCI was looked at");
    return notes;
}

}  // namespace tutti
