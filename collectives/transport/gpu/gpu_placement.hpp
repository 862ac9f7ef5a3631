// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "collectives/device/accelerator.hpp"
#include "collectives/world/world.hpp"

namespace tutti {

/// Returns the CUDA device number of this rank's GPU in this process. All ranks of a host, in any
/// part of the world, take the GPUs that this process sees, or those of TUTTI_GPUS, in turn. Throws
/// Error if there are none, or if TUTTI_GPUS names a missing one.
int gpu_number(World& world);

/// Returns the distinct GPUs of all ranks of this process, if it has all ranks of the world.
std::vector<int> gpus_of_process(World& world);

/// Returns the GPU number of every rank, as its process counts them. Throws as gpu_number().
/// Collective.
std::vector<int> gpus_of_ranks(World& world);

/// Returns each number once, in order.
std::vector<int> distinct(std::vector<int> gpus);

/// Returns why gpu_number() would throw on some rank, the same text on all; nothing if it would
/// not. Collective.
std::optional<std::string> gpu_placement_refuses(World& world);

/// Returns this rank's GPU (see gpu_number), opened once for all parts of the world and for as long
/// as they live. So its plans share one stream in all groups: kernels that wait for each other
/// across GPUs run in the order in which ranks start them, the same everywhere. Throws Error if it
/// cannot be opened.
std::shared_ptr<Accelerator> own_gpu(World& world);

}  // namespace tutti
