// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "collectives/device/accelerator.hpp"
#include "collectives/world/world.hpp"

namespace tutti {

/// CUDA's number of this rank's GPU, as this process counts them: all ranks of a host, of whatever
/// part of the world, take those that it sees, or those of TUTTI_GPUS, in turn. Throws Error if
/// there are none, or if TUTTI_GPUS names one that is not there.
int gpu_number(World& world);

/// The GPUs of all ranks of this process, each once, where that has all ranks of the world.
std::vector<int> gpus_of_process(World& world);

/// That of every rank, as its process counts them. Throws as gpu_number(). Collective.
std::vector<int> gpus_of_ranks(World& world);

/// Each once, in order.
std::vector<int> distinct(std::vector<int> gpus);

/// Why gpu_number() would throw on some rank: the same words on all; nothing if it would not.
/// Collective.
std::optional<std::string> gpu_placement_refuses(World& world);

/// This rank's GPU (see gpu_number), opened once for all parts of the world and for as long as they
/// are together. So its plans share one stream whatever group they are of: kernels that wait for
/// each other across GPUs run in the order in which ranks start them, the same everywhere. Throws
/// Error if it cannot be opened.
std::shared_ptr<Accelerator> own_gpu(World& world);

}  // namespace tutti
