// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cuda_runtime_api.h>

#include <string>

#include "base/error.hpp"

namespace tutti::device {

/// Throws Error with what was asked of CUDA and what it answered, if that was not success.
inline void check(cudaError_t answer, const char* what) {
    if (answer == cudaSuccess) return;
    cudaGetLastError();  // forgotten, or the next call would report it again
    throw Error(std::string("CUDA: ") + what + ": " + cudaGetErrorString(answer));
}

}  // namespace tutti::device
