// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <memory>

#include "collectives/device/memory_device.hpp"

namespace tutti {

/// The memory of the GPU of that number and queues of work on it, which are CUDA streams. Throws
/// Error if there is none.
std::unique_ptr<MemoryDevice> gpu_memory(int number);

}  // namespace tutti
