// SPDX-License-Identifier: Apache-2.0
#include <nlohmann/json.hpp>

#include "topology/machine.hpp"

namespace tutti {
namespace {

using Json = nlohmann::ordered_json;

Json json_of(const Package& package) {
    return {{"model", package.model}, {"cores", package.cores}};
}

Json json_of(const NumaNode& node) {
    return {
        {"os_index", node.os_index}, {"memory_bytes", node.memory.count}, {"cores", node.cores}};
}

Json json_of(const Core& core) { return {{"threads", core.threads}}; }

Json json_of(const Cache& cache) {
    return {{"name", short_name(cache)},
            {"level", cache.level},
            {"bytes", cache.size.count},
            {"cores", cache.cores}};
}

Json json_of(const Device& device) {
    return {{"kind", short_name(device.kind)},
            {"pci_address", device.pci_address},
            {"pci_id", device.pci_id},
            {"names", device.names},
            {"numa_node", device.numa_node ? Json(*device.numa_node) : Json()}};
}

template <class Part>
Json list_of(const std::vector<Part>& parts) {
    Json list = Json::array();
    for (const Part& part : parts) list.push_back(json_of(part));
    return list;
}

}  // namespace

std::string to_json(const Host& host) {
    const Json json = {{"name", host.name},
                       {"packages", list_of(host.packages)},
                       {"numa_nodes", list_of(host.numa_nodes)},
                       {"cores", list_of(host.cores)},
                       {"caches", list_of(host.caches)},
                       {"devices", list_of(host.devices)},
                       {"not_seen", host.not_seen}};
    // Names come from outside: bytes that are no UTF-8 are replaced rather than refused.
    return json.dump(2, ' ', false, Json::error_handler_t::replace);
}

}  // namespace tutti
