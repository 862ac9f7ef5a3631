// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <memory>

#include "collectives/transport/gpu/staged.hpp"

namespace tutti {

/// Messages between the memory of devices of one host, by memory that both ranks share and both
/// devices know: a sender's device copies a piece into a slot of the receiver's ring, and the
/// receiver's copies it out. So each byte crosses the host's memory once, and processors do no more
/// than to say which slots are full and which are empty. Rings of an endpoint take no more than
/// `staging.ring` bytes of a rank if pieces of `least_piece` suffice for that. Throws Error when
/// connected if ranks are on several hosts or a device cannot know the memory.
std::unique_ptr<MessageTransport> shared_rings_transport(World& world, MemoryDevice& device,
                                                         const Staging& staging = {});

}  // namespace tutti
