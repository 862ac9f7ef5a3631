// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <memory>

#include "collectives/transport/gpu/staged.hpp"

namespace tutti {

/// Moves messages between the memory of devices of one host, through memory that both ranks share
/// and both devices have mapped: the sender's device copies a piece into a slot of the receiver's
/// ring, and the receiver's device copies it out. So each byte crosses host memory once, and
/// processors only signal which slots are full and which are empty. The rings of an endpoint take
/// at most `staging.ring` bytes of a rank, if pieces of `least_piece` suffice for that. Throws
/// Error when connected if ranks are on several hosts or a device cannot map the memory.
std::unique_ptr<MessageTransport> shared_rings_transport(World& world, MemoryDevice& device,
                                                         const Staging& staging = {});

}  // namespace tutti
