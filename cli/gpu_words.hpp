// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>
#include <vector>

#include "collectives/world/world.hpp"
#include "results/launch.hpp"

namespace tutti {

/// "CUDA 13.0, driver 580.65.06 (up to CUDA 13.0), NCCL 2.28.9", and a line for each GPU that CUDA
/// lets this process use, or one that says why there is none.
std::vector<std::string> gpus_in_words();

/// Puts the GPUs of this host, and what drives them, into the record of a launch; nothing where
/// there are none. NCCL's settings are those of the launch's environment.
void describe_gpus(Launch& launch);

/// The GPU that a rank would run on; empty where there is none.
std::string gpu_uuid_of(World& world);

}  // namespace tutti
