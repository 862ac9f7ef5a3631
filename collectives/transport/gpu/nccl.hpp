// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "collectives/transport/endpoint.hpp"

namespace tutti {

/// Why this build has no NCCL, and how to get it; nothing if it has.
std::optional<std::string> nccl_missing();

/// "2.28.9" as the library numbers itself; "none" without it.
std::string nccl_version();

/// Why NCCL cannot join these ranks: no GPU, two ranks on one, or NCCL's own reason where it makes
/// no communicator of them within the world's deadline. The same on all ranks; found out once.
/// Collective when first asked. Throws Error if a rank is lost or late meanwhile.
std::optional<std::string> nccl_refuses(World& world);

/// These ranks as NCCL knows them. Nothing here blocks in the library: its calls go on beside the
/// host, and are looked at until they are done or too late.
class NcclRanks {
public:
    virtual ~NcclRanks() = default;

    /// Made when nccl_refuses() is first asked, and kept for as long as the world. Throws Error if
    /// it refuses. Collective when first asked.
    static NcclRanks& of(World& world);

    /// What NCCL is asked for, in words for an error.
    using What = std::function<std::string()>;

    /// Asks NCCL for something that comes after what the stream (a cudaStream_t) was asked before.
    /// `call` is given the communicator and returns an ncclResult_t. Returns when NCCL has passed
    /// it on to the stream; throws Error if it fails, or takes longer than the world's deadline.
    virtual void ask(const What& what, const std::function<int(void* communicator)>& call) = 0;

    /// Throws Error (rank_lost) in NCCL's words if something has gone wrong beside the host since;
    /// the communicator is given up then, so that nobody waits for it.
    virtual void throw_if_failed(const What& what) = 0;

    /// Ends what is under way, however far it is: else the GPU would wait for it, and the host for
    /// the GPU when it frees memory. Nothing can be asked for after that.
    virtual void give_up() = 0;
};

/// Groups of ncclSend and ncclRecv between the memory of GPUs, in the order of the plan's queue.
std::unique_ptr<MessageTransport> nccl_transport(World& world);

}  // namespace tutti
