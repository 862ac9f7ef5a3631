// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "collectives/transport/memory_device.hpp"
#include "collectives/transport/world.hpp"

namespace tutti {

/// The memory of this rank's GPU (see gpu_number) and queues of work on it, which are CUDA streams;
/// kept as long as the world. Throws Error where gpus_missing() says why.
MemoryDevice& gpu_memory(World& world);

}  // namespace tutti
