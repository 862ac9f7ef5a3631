// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cuda_runtime_api.h>

#include <string>

#include "base/error.hpp"

namespace tutti::device {

/// Throws Error with what was asked of CUDA and what it answered, if that was not success: that the
/// GPU is lost (rank_lost), or that this cannot be done (usage).
inline void check(cudaError_t answer, const char* what) {
    if (answer == cudaSuccess) return;
    cudaGetLastError();  // forgotten, or the next call would report it again; unless the GPU is
                         // lost
    const bool is_lost = cudaGetLastError() != cudaSuccess;
    throw Error(std::string("CUDA: ") + what + ": " + cudaGetErrorString(answer),
                is_lost ? Exit::rank_lost : Exit::usage);
}

}  // namespace tutti::device
