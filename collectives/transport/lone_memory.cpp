// SPDX-License-Identifier: Apache-2.0
#include "collectives/transport/lone_memory.hpp"

#include "collectives/device/cuda_device.hpp"
#include "collectives/transport/gpu_placement.hpp"

namespace tutti {

std::unique_ptr<ReachableMemory> lone_gpu_memory(World& world, std::size_t bytes) {
    std::unique_ptr<ReachableMemory> memory;
    std::string problem;
    try {
        memory =
            std::make_unique<LoneMemory>(world.rank(), cuda_device(gpu_number(world), {}), bytes);
    } catch (const Error& error) {
        problem = error.what();
    }
    agree_on(world, "buffers on devices", problem.empty() ? nullptr : problem.c_str());
    return memory;
}

}  // namespace tutti
