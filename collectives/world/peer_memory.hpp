// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>
#include <optional>
#include <span>
#include <string>

#include "collectives/world/world.hpp"

namespace tutti {

/// Unregistered memory of another process on this host, read through the kernel (process_vm_readv,
/// cross memory attach): one copy without preparation, for a system call and a walk over the pages.
struct PeerMemory {
    int process = 0;  ///< the operating system's number
    const std::byte* address = nullptr;

    /// Throws Error (rank_lost) if the process has ended.
    void read(std::byte* into, std::size_t bytes) const;
};

/// Why the ranks cannot read each other's memory so; nothing if they can. Collective.
std::optional<std::string> peer_memory_refuses(World& world);

}  // namespace tutti
