// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <memory>

#include "collectives/transport/endpoint.hpp"

namespace tutti {

/// The LL protocol (as in NCCL) between ranks of one host: a small message is copied into lines of
/// shared memory that carry data and flag together. So it takes one transfer of a cache line, no
/// rank waits until its buffer was read, and any memory can be used. Each byte is copied twice: for
/// a few KiB at most.
std::unique_ptr<MessageTransport> ll_transport(World& world);

/// Messages of any size between the ranks of each host: small ones in the lines of the LL protocol;
/// larger ones are read by the receiver in the sender's memory (see PeerMemory), or travel in
/// lines, too, if the kernel refuses that. All peers must be ranks of this rank's host. Collective
/// over all hosts; throws Error if ranks of this host cannot share memory.
std::unique_ptr<MessageTransport> host_messages(World& world);

}  // namespace tutti
