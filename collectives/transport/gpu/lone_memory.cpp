// SPDX-License-Identifier: Apache-2.0
#include "collectives/transport/gpu/lone_memory.hpp"

#include "collectives/device/gpu_memory.hpp"
#include "collectives/transport/gpu/gpu_placement.hpp"
#include "collectives/transport/gpu/own_gpu.hpp"

namespace tutti {

std::unique_ptr<ReachableMemory> lone_gpu_memory(World& world, std::size_t bytes) {
    return make_on_all_ranks(
        world, "buffers on devices", [&]() -> std::unique_ptr<ReachableMemory> {
            return std::make_unique<LoneMemory>(world.rank(), own_gpu(world), bytes);
        });
}

std::shared_ptr<std::byte> lone_pinned_memory(World& world, std::size_t bytes) {
    return make_on_all_ranks(world, "pinned buffers",
                             [&] { return gpu_memory(gpu_number(world))->pinned(bytes); });
}

}  // namespace tutti
