// SPDX-License-Identifier: Apache-2.0
// Takes the place of nccl_*.cpp where no NCCL was found when configuring.
#include "collectives/device/gpus.hpp"
#include "collectives/transport/gpu/nccl.hpp"

namespace tutti {

std::optional<std::string> nccl_missing() {
    if (auto missing = cuda_not_built()) return missing;
    return "this build has no NCCL; install libnccl-dev beside CUDA and build again";
}

std::string nccl_version() { return "none"; }

std::optional<std::string> nccl_refuses(World&) { return nccl_missing(); }

NcclRanks& NcclRanks::of(World&) { throw Error(*nccl_missing()); }

std::unique_ptr<MessageTransport> nccl_transport(World&) { throw Error(*nccl_missing()); }

}  // namespace tutti
