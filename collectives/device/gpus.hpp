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

/// A GPU that this process can use through CUDA.
struct GpuFacts {
    std::string model;
    std::string uuid;     ///< "GPU-8f6c...", as in nvidia-smi
    std::string address;  ///< on the PCI bus: "0000:17:00.0"
    Bytes memory;
    int multiprocessors = 0;
    int capability = 0;  ///< 90 for 9.0
};

/// Returns why this build has no CUDA, and how to get it; nothing if it has.
std::optional<std::string> cuda_not_built();

/// Returns why no GPU can be used here, in one line: the build, the driver, or that there is none;
/// nothing if there are some.
std::optional<std::string> gpus_missing();

/// Returns the GPUs in the order of CUDA's numbers; none if gpus_missing() gives a reason.
std::vector<GpuFacts> gpus();

/// Return the version of the CUDA runtime of the build and that supported by the driver, e.g.
/// "13.0"; "none" without CUDA.
std::string cuda_runtime_version();
std::string cuda_driver_version();

/// Returns the version of the kernel module, e.g. "580.65.06"; "unknown" if it does not tell, empty
/// if there is no driver.
std::string gpu_driver_release();

/// Returns the memory of the GPU with that number and queues of work on it, which are CUDA streams.
/// Throws Error if there is none.
std::unique_ptr<MemoryDevice> gpu_memory(int number);

/// Whether kernels on one GPU can load and store memory of the other.
bool cuda_reaches(int from, int to);

/// Opens the GPU with that number, which can then access `peers` in this process. Throws Error if
/// there is none, if it cannot run plans, or if a peer cannot be accessed.
std::shared_ptr<Accelerator> cuda_device(int ordinal, const std::vector<int>& peers);

/// Throws Error (the rank's GPU is lost) with CUDA's text and the calling line unless `code` is
/// cudaSuccess.
void check_cuda(int code, std::source_location where = std::source_location::current());

}  // namespace tutti
