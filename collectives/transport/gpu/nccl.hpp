// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "collectives/transport/endpoint.hpp"

namespace tutti {

/// Returns why this build has no NCCL, and how to get it; nothing if it has.
std::optional<std::string> nccl_missing();

/// Returns the library's version, e.g. "2.28.9"; "none" without it.
std::string nccl_version();

/// Returns why NCCL cannot join these ranks: no GPU, two ranks on one GPU, or NCCL's own reason if
/// it makes no communicator within the world's deadline. The same on all ranks; determined once, by
/// a collective call. Throws Error if a rank is lost or late meanwhile.
std::optional<std::string> nccl_refuses(World& world);

/// An NCCL communicator of these ranks. No call blocks in the library: NCCL's calls run
/// asynchronously, and are polled until they complete or time out.
class NcclRanks {
public:
    virtual ~NcclRanks() = default;

    /// Returns the communicator, made by the first call of nccl_refuses() and kept as long as the
    /// world. Throws Error if NCCL refuses. The first call is collective.
    static NcclRanks& of(World& world);

    /// Describes a request to NCCL, for error messages.
    using What = std::function<std::string()>;

    /// Enqueues an NCCL operation after the earlier work of the stream (a cudaStream_t). `call`
    /// gets the communicator and returns an ncclResult_t. Returns when NCCL has enqueued it; throws
    /// Error if it fails, or takes longer than the world's deadline.
    virtual void ask(const What& what, const std::function<int(void* communicator)>& call) = 0;

    /// Throws Error (rank_lost) with NCCL's text if an asynchronous error has occurred; aborts the
    /// communicator first, so that no rank waits for it.
    virtual void throw_if_failed(const What& what) = 0;

    /// Aborts pending operations: otherwise the GPU would wait for them, and the host for the GPU
    /// when it frees memory. No operation is possible after that.
    virtual void give_up() = 0;
};

/// Groups of ncclSend and ncclRecv between GPU memory, in the order of the plan's queue.
std::unique_ptr<MessageTransport> nccl_transport(World& world);

}  // namespace tutti
