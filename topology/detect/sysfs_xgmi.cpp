// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <sstream>

#include "base/index.hpp"
#include "topology/detect/sysfs_devices.hpp"
#include "topology/machine/link_speeds.hpp"

namespace tutti {
namespace {

using sysfs::Path;
using Properties = std::map<std::string, std::int64_t>;

// Reads lines "name number".
Properties properties_in(const Path& folder) {
    Properties properties;
    for (const std::string& line : sysfs::lines_of(folder / "properties")) {
        std::istringstream fields(line);
        std::string name;
        std::int64_t value = 0;
        if (fields >> name >> value) properties[name] = value;
    }
    return properties;
}

// Converts 90010 to gfx90a: major, minor and stepping are decimal pairs, the last two written in
// hexadecimal.
std::string gpu_name(std::int64_t version) {
    return fmt::format("gfx{}{:x}{:x}", version / 10000, version / 100 % 100, version % 100);
}

// Decodes bus, device and function from one number.
std::string pci_address(const Properties& node) {
    const std::int64_t place = node.contains("location_id") ? node.at("location_id") : 0;
    const std::int64_t domain = node.contains("domain") ? node.at("domain") : 0;
    return fmt::format("{:04x}:{:02x}:{:02x}.{:x}", domain, place >> 8 & 0xff, place >> 3 & 0x1f,
                       place & 7);
}

struct KfdNode {
    LinkEnd end;
    std::string gpu;  // empty for processors
};

// The driver numbers the processors' nodes first, in the order of NUMA nodes that have cores.
std::map<int, KfdNode> read_nodes(const Host& host, const Path& folder) {
    std::vector<int> processors;
    for (const NumaNode& node : host.numa_nodes)
        if (!node.cores.empty()) processors.push_back(node.os_index);
    std::ranges::sort(processors);
    std::map<int, KfdNode> nodes;
    std::size_t processors_seen = 0;
    for (const int number : sysfs::numbered(folder, "")) {
        Properties node = properties_in(folder / std::to_string(number));
        if (node["gfx_target_version"] == 0) {
            if (node["cpu_cores_count"] > 0 && processors_seen < processors.size())
                nodes[number] = {{LinkEnd::Kind::numa_node, processors[processors_seen++]}, ""};
            continue;
        }
        const auto device =
            std::ranges::find(host.devices, pci_address(node), &Device::pci_address);
        if (device == host.devices.end()) continue;  // hidden from this container
        const int index = static_cast<int>(device - host.devices.begin());
        nodes[number] = {{LinkEnd::Kind::device, index}, gpu_name(node["gfx_target_version"])};
    }
    return nodes;
}

}  // namespace

Host with_sysfs_xgmi(Host host, const Path& root) {
    constexpr int xgmi = 11;
    const Path folder = root / "sys/class/kfd/kfd/topology/nodes";
    const std::map<int, KfdNode> nodes = read_nodes(host, folder);
    for (const auto& [number, node] : nodes) {
        if (node.gpu.empty()) continue;
        Device& gpu = at(host.devices, node.end.index);
        if (gpu.model.empty()) gpu.model = node.gpu;
        const Path links = folder / std::to_string(number) / "io_links";
        for (const int index : sysfs::numbered(links, "")) {
            Properties link = properties_in(links / std::to_string(index));
            const auto peer = nodes.find(static_cast<int>(link["node_to"]));
            if (link["type"] != xgmi || peer == nodes.end()) continue;
            // Both GPUs of a pair list the link.
            if (!peer->second.gpu.empty() && peer->first < number) continue;
            // Bandwidths of all links together and of one link, in MB/s.
            const auto least = link["min_bandwidth"], most = link["max_bandwidth"];
            constexpr std::int64_t most_links = 16;  // GPUs so far have at most 8
            const int count =
                least > 0 ? static_cast<int>(std::clamp<std::int64_t>(most / least, 1, most_links))
                          : 1;
            host.links.push_back({.kind = LinkKind::xgmi,
                                  .a = node.end,
                                  .b = peer->second.end,
                                  .count = count,
                                  .bandwidth_GBps = count * xgmi_GBps(node.gpu)});
        }
    }
    return host;
}

}  // namespace tutti
