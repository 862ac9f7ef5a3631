// SPDX-License-Identifier: Apache-2.0
#include "base/error.hpp"
#include "collectives/device/cuda_device.hpp"

namespace tutti {

std::optional<std::string> cuda_missing() {
    return "built without CUDA: no nvcc was found (or TUTTI_CUDA=OFF)";
}

int cuda_devices() { return 0; }
std::string cuda_identity(int) { throw Error(*cuda_missing()); }
bool cuda_reaches(int, int) { return false; }
std::shared_ptr<Accelerator> cuda_device(int, const std::vector<int>&) {
    throw Error(*cuda_missing());
}

}  // namespace tutti
