// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "collectives/transport/world.hpp"

namespace tutti {

/// CUDA's number of each rank's GPU, as this process counts them: the ranks of a host take those
/// that it sees, or those of TUTTI_GPUS, in turn. Throws Error if there are none, or if TUTTI_GPUS
/// names one that is not there.
std::vector<int> gpus_of_ranks(const World& world);

/// Why it would throw on some rank: the same words on all; nothing if it would not. Collective.
std::optional<std::string> gpu_placement_refuses(World& world);

/// That of this rank.
int gpu_number(const World& world);

}  // namespace tutti
