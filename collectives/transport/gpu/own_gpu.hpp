// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <memory>

#include "collectives/device/accelerator.hpp"
#include "collectives/world/world.hpp"

namespace tutti {

/// This rank's GPU (see gpu_number), opened once for all parts of the world and for as long as they
/// are together. So its plans share one stream whatever group they are of: kernels that wait for
/// each other across GPUs run in the order in which ranks start them, the same everywhere. Throws
/// Error if it cannot be opened.
std::shared_ptr<Accelerator> own_gpu(World& world);

}  // namespace tutti
