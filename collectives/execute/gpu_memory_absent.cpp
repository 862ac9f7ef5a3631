// SPDX-License-Identifier: Apache-2.0
// Takes the place of gpu_memory.cpp where no CUDA toolkit was found when configuring.
#include "base/error.hpp"
#include "collectives/execute/gpu_memory.hpp"
#include "collectives/transport/gpus.hpp"

namespace tutti {

MemoryDevice& gpu_memory(World&) { throw Error(*gpus_missing()); }

}  // namespace tutti
