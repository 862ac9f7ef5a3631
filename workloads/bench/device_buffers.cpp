// SPDX-License-Identifier: Apache-2.0
#include "workloads/bench/device_buffers.hpp"

#include "collectives/transport/gpu/device_memory.hpp"

namespace tutti {
namespace {

// Empty if there is none.
std::string first_on_devices(const std::vector<std::string>& transports) {
    for (const auto& name : transports)
        if (name != "all" && name != "none" && find_transport(name).on_device) return name;
    return "";
}

}  // namespace

DeviceBuffers device_buffers(Planner& planner, const std::vector<std::string>& transports) {
    const std::string transport = first_on_devices(transports);
    if (transport.empty())
        return {
            .on_device =
                [&planner](std::size_t bytes) { return lone_gpu_memory(planner.world(), bytes); },
            .pinned =
                [&planner](std::size_t bytes) {
                    return lone_pinned_memory(planner.world(), bytes);
                }};
    return {
        .on_device = [&planner, transport](
                         std::size_t bytes) { return planner.registered_memory(transport, bytes); },
        .pinned = [&planner, transport](
                      std::size_t bytes) { return planner.pinned_memory(transport, bytes); }};
}

}  // namespace tutti
