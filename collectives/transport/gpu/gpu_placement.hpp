// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <optional>
#include <string>
#include <vector>

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

}  // namespace tutti
