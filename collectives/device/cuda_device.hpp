// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "collectives/device/accelerator.hpp"

namespace tutti {

/// Why there is no GPU to be used: this build, the driver or the machine; nothing if there is one.
std::optional<std::string> cuda_missing();

/// How many GPUs this process sees; 0 without a driver.
int cuda_devices();

/// What tells a GPU from all others, whatever its number in this process is.
std::string cuda_identity(int ordinal);

/// Whether kernels on one can load and store memory of the other.
bool cuda_reaches(int from, int to);

/// The GPU of that number, which can then reach `peers` in this process. Throws Error if there is
/// none, if it cannot run plans, or if one cannot be reached.
std::shared_ptr<Accelerator> cuda_device(int ordinal, const std::vector<int>& peers);

}  // namespace tutti
