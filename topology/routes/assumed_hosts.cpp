// SPDX-License-Identifier: Apache-2.0
// Machines to plan for that are not there: several of a host, and links that nobody described.
#include <fmt/format.h>

#include "base/error.hpp"
#include "base/index.hpp"
#include "topology/routes/rings.hpp"

namespace tutti {

Machine copies_of(const Host& host, int hosts) {
    Machine machine;
    for (int h = 0; h < hosts; ++h) {
        machine.hosts.push_back(host);
        if (hosts > 1) machine.hosts.back().name = fmt::format("{}.{}", host.name, h);
    }
    return machine;
}

Host with_nvswitches(Host host, int links_per_gpu) {
    if (!host.links.empty())
        throw Error(
            "--nvlinks is for hosts of which no links between GPUs are known; leave it out");
    const int nvswitch = int_size(host.devices);
    for (int device = 0; device < nvswitch; ++device)
        if (at(host.devices, device).kind == DeviceKind::gpu)
            host.links.push_back({.kind = LinkKind::nvlink,
                                  .a = {LinkEnd::Kind::device, device},
                                  .b = {LinkEnd::Kind::device, nvswitch},
                                  .count = links_per_gpu});
    if (host.links.empty()) throw Error("--nvlinks: this host has no GPU; leave it out");
    host.devices.push_back({.kind = DeviceKind::nvswitch});
    return host;
}

}  // namespace tutti
