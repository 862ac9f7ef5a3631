// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <memory>
#include <optional>
#include <source_location>
#include <string>
#include <vector>

#include "base/units.hpp"

namespace tutti {

class Accelerator;
class MemoryDevice;

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

/// The memory of the GPU of that number and queues of work on it, which are CUDA streams. Throws
/// Error if there is none.
std::unique_ptr<MemoryDevice> gpu_memory(int number);

/// Whether kernels on one can load and store memory of the other.
bool cuda_reaches(int from, int to);

/// The GPU of that number, which can then reach `peers` in this process. Throws Error if there is
/// none, if it cannot run plans, or if one cannot be reached.
std::shared_ptr<Accelerator> cuda_device(int ordinal, const std::vector<int>& peers);

/// Throws Error (the rank's GPU is lost) with CUDA's text and the calling line unless `code` is
/// cudaSuccess.
void check_cuda(int code, std::source_location where = std::source_location::current());

}  // namespace tutti
