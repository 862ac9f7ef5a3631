// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <memory>

#include "collectives/device/memory_device.hpp"
#include "collectives/transport/endpoint.hpp"

namespace tutti {

/// How messages between devices are cut on their way through the host. Copying a piece over PCIe
/// (about 20 us for 1 MiB) takes several times longer than starting it and detecting its end. With
/// three pieces, one is copied out or in, another one is on the network, and the third waits for
/// neither.
struct Staging {
    std::size_t piece = std::size_t{1} << 20;
    std::size_t least_piece = std::size_t{64} << 10;  ///< where a step has many messages
    std::size_t ring = std::size_t{16} << 20;  ///< pinned memory of an endpoint, if sufficient
    int slots = 3;
};

/// Returns the piece size for an endpoint that holds `slots` pieces of each of `messages` messages
/// of at most `most_bytes`; the same on all ranks, so that both ends cut a message the same way.
/// Collective.
std::size_t agreed_piece(World& world, const Staging& staging, std::size_t messages,
                         std::size_t most_bytes);

/// Moves messages between the memory of devices over a library that takes only host addresses: cut
/// into pieces, each copied to pinned host memory, sent from there, received in such memory and
/// copied to the device. Pieces on their way out, over the network and in overlap; see DeviceQueue
/// for the order relative to other work. `messages` must have no other user.
std::unique_ptr<MessageTransport> staged_transport(World& world, MemoryDevice& device,
                                                   std::unique_ptr<MessageTransport> messages,
                                                   const Staging& staging = {});

/// Moves messages between the memory of devices of one host, through memory that both ranks share
/// and both devices have mapped: the sender's device copies a piece into a slot of the receiver's
/// ring, and the receiver's device copies it out. So each byte crosses host memory once, and
/// processors only signal which slots are full and which are empty. The rings of an endpoint take
/// at most `staging.ring` bytes of a rank, if pieces of `least_piece` suffice for that. Throws
/// Error when connected if ranks are on several hosts or a device cannot map the memory.
std::unique_ptr<MessageTransport> shared_rings_transport(World& world, MemoryDevice& device,
                                                         const Staging& staging = {});

}  // namespace tutti
