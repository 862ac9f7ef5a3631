// SPDX-License-Identifier: Apache-2.0
#include "collectives/transport/gpu/own_gpu.hpp"

#include "collectives/device/cuda_device.hpp"
#include "collectives/transport/gpu/gpu_placement.hpp"

namespace tutti {
namespace {

struct OwnGpu {
    std::shared_ptr<Accelerator> device;
};

}  // namespace

std::shared_ptr<Accelerator> own_gpu(World& world) {
    World& whole = world.whole();
    const auto open = [&] {
        const auto peers = world.one_process() ? gpus_of_process(whole) : std::vector<int>{};
        return std::make_shared<OwnGpu>(cuda_device(gpu_number(world), peers));
    };
    return whole.attribute<OwnGpu>(open).device;
}

}  // namespace tutti
