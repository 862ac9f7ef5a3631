// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cuda_runtime_api.h>

#include <string>

#include "base/error.hpp"

namespace tutti::device {

/// Whether nothing works any more for this process, as CUDA's manual says it of these.
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

/// Throws Error with what was asked of CUDA and what it answered, if that was not success: that the
/// GPU is lost (rank_lost), or that this cannot be done (usage).
inline void check(cudaError_t answer, const char* what) {
    if (answer == cudaSuccess) return;
    cudaGetLastError();  // forgotten, or the next call would report it again
    throw Error(std::string("CUDA: ") + what + ": " + cudaGetErrorString(answer),
                is_lost(answer) ? Exit::rank_lost : Exit::usage);
}

}  // namespace tutti::device
