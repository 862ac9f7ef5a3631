// SPDX-License-Identifier: Apache-2.0
#include "topology/fingerprint.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "base/sha256.hpp"

namespace tutti {

// Sorted, because whoever describes a host lists its parts in an order of their own.
std::string fingerprint(const Host& host) {
    std::vector<std::string> parts;
    for (const Package& package : host.packages)
        parts.push_back(fmt::format("package {}", fmt::join(package.cores, ",")));
    for (const NumaNode& node : host.numa_nodes)
        parts.push_back(fmt::format("memory {}", fmt::join(node.cores, ",")));
    for (std::size_t i = 0; i < host.cores.size(); ++i)
        parts.push_back(fmt::format("core {} threads {}", i, host.cores[i].threads.size()));
    for (const Cache& cache : host.caches)
        parts.push_back(fmt::format("{} {} {}", short_name(cache), cache.size.count,
                                    fmt::join(cache.cores, ",")));
    for (const Device& device : host.devices)
        parts.push_back(fmt::format("{} {} {}", short_name(device.kind), device.pci_id,
                                    device.numa_node.value_or(-1)));
    std::ranges::sort(parts);
    return sha256(fmt::format("{}", fmt::join(parts, "\n")));
}

}  // namespace tutti
