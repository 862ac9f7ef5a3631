// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>
#include <optional>
#include <span>
#include <string>

#include "collectives/world/world.hpp"

namespace tutti {

/// Unregistered memory of another process on this host, read or written through the kernel
/// (process_vm_readv and process_vm_writev, cross memory attach): one copy without preparation, at
/// the cost of a system call and a page walk.
struct PeerMemory {
    int process = 0;  ///< the operating system's number
    std::byte* address = nullptr;

    /// Both throw Error (rank_lost) if the process has ended.
    void read(std::byte* into, std::size_t bytes) const;
    void write(const std::byte* from, std::size_t bytes) const;
};

/// Returns why the ranks cannot reach each other's memory this way; nothing if they can. Ranks that
/// are on several hosts need to reach only that of their own one. Collective on first use of a
/// world.
std::optional<std::string> peer_memory_refuses(World& world);

/// Returns why the ranks cannot share memory (see SharedPieces); nothing if they can. Collective on
/// first use of a world.
std::optional<std::string> shared_memory_refuses(World& world);

/// Whether both are known to work with the processes of all ranks, from another world.
bool knows_all_peers(const World& world);
/// Makes both answer without an exchange. To be called if all ranks know all their peers.
void trust_known_peers(World& world);

}  // namespace tutti
