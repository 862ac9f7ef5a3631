// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <memory>
#include <vector>

#include "collectives/device/accelerator.hpp"

namespace tutti {

/// Whether kernels on one can load and store memory of the other.
bool cuda_reaches(int from, int to);

/// The GPU of that number, which can then reach `peers` in this process. Throws Error if there is
/// none, if it cannot run plans, or if one cannot be reached.
std::shared_ptr<Accelerator> cuda_device(int ordinal, const std::vector<int>& peers);

}  // namespace tutti
