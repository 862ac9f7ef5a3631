// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "base/units.hpp"

namespace tutti {

/// A GPU that CUDA lets this process use.
struct GpuFacts {
    std::string model;
    std::string uuid;     ///< "GPU-8f6c..." as nvidia-smi says it
    std::string address;  ///< on the PCI bus: "0000:17:00.0"
    Bytes memory;
    int multiprocessors = 0;
    int capability = 0;  ///< 90 for 9.0
};

/// Why this build has no CUDA, and how to get it; nothing if it has.
std::optional<std::string> cuda_not_built();

/// Why no GPU can be used here, in one line: the build, the driver, or that there is none; nothing
/// if there are some.
std::optional<std::string> gpus_missing();

/// None where gpus_missing() says why. In the order of CUDA's numbers.
std::vector<GpuFacts> gpus();

/// "13.0"; "none" without CUDA. What the build brings, and what the driver can do.
std::string cuda_runtime_version();
std::string cuda_driver_version();

/// "580.65.06" as the kernel's module numbers itself; "unknown" where it does not
/// say, empty where there is no driver.
std::string gpu_driver_release();

}  // namespace tutti
