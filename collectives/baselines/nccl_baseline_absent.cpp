// SPDX-License-Identifier: Apache-2.0
// Replaces nccl_baseline.cpp if NCCL was not found when configuring.
#include "collectives/baselines/library_baselines.hpp"
#include "collectives/transport/gpu/nccl.hpp"

namespace tutti {

std::optional<std::string> nccl_baseline_refuses(World&, const LibraryCall&) {
    return nccl_missing();
}

std::unique_ptr<Operation> nccl_baseline(World&, const LibraryCall&, const CallBuffers&) {
    throw Error(*nccl_missing());
}

}  // namespace tutti
