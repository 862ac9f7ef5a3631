// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <memory>

#include "collectives/device/memory_device.hpp"
#include "collectives/transport/endpoint.hpp"

namespace tutti {

/// How a message between devices is cut on its way through the host. Copying a piece over PCIe
/// (about 20 us for 1 MiB) takes several times longer than asking for it and noticing its end; and
/// with three pieces one is copied out or in while another one is on its way and the third waits
/// for neither.
struct Staging {
    std::size_t piece = std::size_t{1} << 20;
    std::size_t least_piece = std::size_t{64} << 10;  ///< where a step has many messages
    std::size_t ring = std::size_t{16} << 20;  ///< pinned memory of an endpoint, if that is enough
    int slots = 3;
};

/// How large pieces are where an endpoint holds `slots` of them for each of so many messages, of at
/// most so many bytes; the same on all ranks, so that both ends cut a message alike. Collective.
std::size_t agreed_piece(World& world, const Staging& staging, std::size_t messages,
                         std::size_t most_bytes);

/// Messages between the memory of devices over a library that takes no addresses of devices: cut in
/// pieces, each copied to pinned memory of the host, sent from there, received in such memory and
/// copied to the device. The library sees memory of the host alone. Pieces on their way out, over
/// the network and in overlap; see DeviceQueue for what comes before and after messages.
/// `messages` is used by nobody else.
std::unique_ptr<MessageTransport> staged_transport(World& world, MemoryDevice& device,
                                                   std::unique_ptr<MessageTransport> messages,
                                                   const Staging& staging = {});

}  // namespace tutti
