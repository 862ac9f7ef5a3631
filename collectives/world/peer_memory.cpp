// SPDX-License-Identifier: Apache-2.0
#include "collectives/world/peer_memory.hpp"

#include <sys/prctl.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <random>
#include <string_view>

#include "base/index.hpp"

namespace tutti {
namespace {

// Returns the number of bytes read; -1 with errno set if none could be.
ssize_t read_some(const PeerMemory& from, std::byte* into, std::size_t bytes) {
    const iovec here{into, bytes};
    const iovec there{const_cast<std::byte*>(from.address), bytes};
    return process_vm_readv(from.process, &here, 1, &there, 1, 0);
}

}  // namespace

void PeerMemory::read(std::byte* into, std::size_t bytes) const {
    PeerMemory rest = *this;
    while (bytes > 0) {
        const ssize_t done = read_some(rest, into, bytes);
        if (done <= 0)
            throw Error("the memory of process " + std::to_string(process) +
                            " can no longer be read: " + std::strerror(errno),
                        Exit::rank_lost);
        rest.address += done;
        into += done;
        bytes -= as_size(done);
    }
}

std::optional<std::string> peer_memory_refuses(World& world) {
    // Some systems let only a process's parents read its memory, unless it allows other processes
    // to.
    prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY, 0, 0, 0);
    // In another container the same process number is another process: the token identifies the
    // peer.
    struct CopyTrial {
        PeerMemory where;
        std::uint64_t token;
    };
    const std::uint64_t token = std::random_device{}() | std::uint64_t{1} << 32;
    const CopyTrial mine{{getpid(), reinterpret_cast<const std::byte*>(&token)}, token};
    const char* problem = nullptr;
    const auto trials = gather_all(world, mine);
    for (const Rank peer : world.ranks_of_host()) {
        const CopyTrial& of_peer = at(trials, peer);
        std::uint64_t read_token = 0;
        if (read_some(of_peer.where, reinterpret_cast<std::byte*>(&read_token),
                      sizeof read_token) != sizeof read_token)
            problem = "process_vm_readv is refused (ptrace_scope or a container's rules?)";
        else if (read_token != of_peer.token)
            problem = "process_vm_readv reaches other processes than the ranks (containers?)";
    }
    // The token must stay until all ranks have read it; this exchange waits for that.
    if (!true_on_all_ranks(world, problem == nullptr))
        return problem != nullptr ? problem : "process_vm_readv is refused on another rank";
    return std::nullopt;
}

}  // namespace tutti
