// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "topology/detect/nvml_library.hpp"

namespace tutti {

/// How an NVIDIA GPU does, as its driver says.
struct GpuCondition {
    std::string name;                ///< "GPU 0"
    std::string slowed_by;           ///< "heat, power cap"; empty: by nothing
    std::int64_t ecc_corrected = 0;  ///< since the driver was started
    std::int64_t ecc_uncorrected = 0;

    bool operator==(const GpuCondition&) const = default;
};

std::vector<GpuCondition> gpu_conditions(const NvmlLibrary& driver);

}  // namespace tutti
