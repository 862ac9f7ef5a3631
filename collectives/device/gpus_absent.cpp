// SPDX-License-Identifier: Apache-2.0
// Takes the place of gpus.cpp where no CUDA toolkit was found when configuring.
#include "collectives/device/gpus.hpp"

namespace tutti {

std::optional<std::string> cuda_not_built() {
    return "this build has no CUDA; install NVIDIA's toolkit (nvcc) and build again";
}

std::optional<std::string> gpus_missing() { return cuda_not_built(); }

std::vector<GpuFacts> gpus() { return {}; }

std::string cuda_runtime_version() { return "none"; }
std::string cuda_driver_version() { return "none"; }
std::string gpu_driver_release() { return ""; }

}  // namespace tutti
