// SPDX-License-Identifier: Apache-2.0
// Replaces all files that need CUDA if it was disabled, or no toolkit was found.
#include "base/error.hpp"
#include "collectives/device/accelerator.hpp"
#include "collectives/device/gpus.hpp"
#include "collectives/device/memory_device.hpp"

namespace tutti {

std::optional<std::string> cuda_not_built() {
#ifdef TUTTI_CUDA_LEFT_OUT
    return "CUDA was left out of this build; configure with -DTUTTI_CUDA=ON and build again";
#else
    return "this build has no CUDA; install NVIDIA's toolkit (nvcc) and build again";
#endif
}

std::optional<std::string> gpus_missing() { return cuda_not_built(); }

std::vector<GpuFacts> gpus() { return {}; }

std::string cuda_runtime_version() { return "none"; }
std::string cuda_driver_version() { return "none"; }
std::string gpu_driver_release() { return ""; }

bool cuda_reaches(int, int) { return false; }
std::shared_ptr<Accelerator> cuda_device(int, const std::vector<int>&) {
    throw Error(*cuda_not_built());
}
std::unique_ptr<MemoryDevice> gpu_memory(int) { throw Error(*cuda_not_built()); }

}  // namespace tutti
