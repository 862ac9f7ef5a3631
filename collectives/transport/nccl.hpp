// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "collectives/transport/wire.hpp"

namespace tutti {

/// Why this build has no NCCL, and how to get it; nothing if it has.
std::optional<std::string> nccl_missing();

/// "2.28.9" as the library numbers itself; "none" without it.
std::string nccl_version();

/// Why NCCL cannot join these ranks: no GPU, or two ranks on one. The same on all ranks; found out
/// once. Collective when first asked.
std::optional<std::string> nccl_refuses(World& world);

/// These ranks as NCCL knows them. Nothing here blocks in the library: its calls go on beside the
/// host, and are looked at until they are done or too late.
class NcclRanks {
public:
    virtual ~NcclRanks() = default;

    /// Made when first asked for, and kept for as long as the world. Collective. Throws Error if
    /// NCCL does not start within the world's deadline.
    static NcclRanks& of(World& world);

    /// An ncclComm_t.
    virtual void* communicator() const = 0;

    /// Asks NCCL for something that comes after what the stream (a cudaStream_t) was asked before.
    /// `call` is given the communicator and returns an ncclResult_t. Returns when NCCL has passed
    /// it on to the stream; throws Error if it fails, or takes longer than the world's deadline.
    virtual void ask(const char* what, const std::function<int(void* communicator)>& call) = 0;

    /// Throws Error (rank_lost) in NCCL's words if something has gone wrong beside the host since;
    /// the communicator is given up then, so that nobody waits for it.
    virtual void throw_if_failed() = 0;
};

/// Groups of ncclSend and ncclRecv between the memory of GPUs, in the order of the plan's queue.
std::unique_ptr<MessageTransport> nccl_transport(World& world);

}  // namespace tutti
