// SPDX-License-Identifier: Apache-2.0
// The grid size of a pass.
#pragma once
#include <cuda_runtime_api.h>

#include <algorithm>
#include <string>

#include "base/error.hpp"
#include "kernels/cuda/partition.hpp"

namespace tutti::device {

/// Whether CUDA's manual says that the process cannot use the GPU after this error.
inline bool is_lost(cudaError_t error) {
    switch (error) {
        case cudaErrorIllegalAddress:
        case cudaErrorLaunchTimeout:
        case cudaErrorAssert:
        case cudaErrorHardwareStackError:
        case cudaErrorIllegalInstruction:
        case cudaErrorMisalignedAddress:
        case cudaErrorInvalidAddressSpace:
        case cudaErrorInvalidPc:
        case cudaErrorLaunchFailure:
        case cudaErrorECCUncorrectable:
        case cudaErrorUnknown:
            return true;
        default:
            return false;
    }
}

/// Throws Error with the request and CUDA's answer, unless that is success: the GPU is lost
/// (rank_lost), or the request is invalid (usage).
inline void check(cudaError_t answer, const char* what) {
    if (answer == cudaSuccess) return;
    cudaGetLastError();  // cleared, or the next call would report it again
    throw Error(std::string("CUDA: ") + what + ": " + cudaGetErrorString(answer),
                is_lost(answer) ? Exit::rank_lost : Exit::usage);
}

inline constexpr int block_threads = 256;

/// Launches `kernel` on `bytes` of work per source: enough blocks to fill the device `waves` times,
/// if there is a packet for each thread. With several waves, a multiprocessor that finishes early
/// gets the next block.
template <class Arguments>
void launch(void (*kernel)(Arguments), const Arguments& arguments, std::int64_t bytes, int waves,
            void* stream) {
    const std::int64_t wanted = bytes / packet_bytes / block_threads + 1;
    int device = 0, multiprocessors = 0, resident = 0;
    check(cudaGetDevice(&device), "cudaGetDevice");
    check(cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, device),
          "cudaDeviceGetAttribute");
    check(cudaOccupancyMaxActiveBlocksPerMultiprocessor(
              &resident, reinterpret_cast<const void*>(kernel), block_threads, 0),
          "cudaOccupancyMaxActiveBlocksPerMultiprocessor");
    const auto most = std::int64_t{multiprocessors} * resident * waves;
    const auto blocks =
        static_cast<unsigned>(std::clamp<std::int64_t>(wanted, 1, std::max<std::int64_t>(most, 1)));
    void* all[] = {const_cast<Arguments*>(&arguments)};
    check(cudaLaunchKernel(reinterpret_cast<const void*>(kernel), dim3(blocks), dim3(block_threads),
                           all, 0, static_cast<cudaStream_t>(stream)),
          "launch of a kernel");
}

/// The number of a thread in such a grid, and the number of threads.
__device__ inline std::int64_t grid_thread() {
    return std::int64_t{blockIdx.x} * block_threads + threadIdx.x;
}
__device__ inline std::int64_t grid_threads() { return std::int64_t{gridDim.x} * block_threads; }

}  // namespace tutti::device
