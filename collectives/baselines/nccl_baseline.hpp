// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "collectives/baselines/baselines.hpp"

namespace tutti {

/// Why NCCL's own collective cannot be compared for this call: no GPU or several ranks on one,
/// buffers of the host, types that NCCL does not have, an all-to-all in place.
std::optional<std::string> nccl_baseline_refuses(World& world, const LibraryCall& call);

/// ncclAllReduce, ncclBroadcast, ... on the ranks' one communicator; what NCCL has no call for
/// (all_to_all, scatter, gather) as one group of ncclSend and ncclRecv.
std::unique_ptr<Operation> nccl_baseline(World& world, const LibraryCall& call,
                                         const CallBuffers& buffers);

}  // namespace tutti
