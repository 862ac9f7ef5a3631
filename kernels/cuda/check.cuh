// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cuda_runtime_api.h>

#include <string>

#include "base/error.hpp"

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

}  // namespace tutti::device
