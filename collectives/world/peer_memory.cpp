// SPDX-License-Identifier: Apache-2.0
#include "collectives/world/peer_memory.hpp"

#include <sys/prctl.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <mutex>
#include <random>
#include <set>

#include "base/index.hpp"
#include "collectives/world/shared_piece.hpp"

namespace tutti {
namespace {

using CopyBetweenProcesses = decltype(process_vm_readv)*;

// Returns the number of bytes copied; -1 with errno set if none could be.
ssize_t copy_some(CopyBetweenProcesses copy, const PeerMemory& at_peer, std::byte* own,
                  std::size_t bytes) {
    const iovec here{own, bytes};
    const iovec there{at_peer.address, bytes};
    return copy(at_peer.process, &here, 1, &there, 1, 0);
}

void copy_all(CopyBetweenProcesses copy, PeerMemory at_peer, std::byte* own, std::size_t bytes) {
    while (bytes > 0) {
        const ssize_t done = copy_some(copy, at_peer, own, bytes);
        if (done <= 0)
            throw Error("copying from or to the memory of process " +
                            std::to_string(at_peer.process) + " failed: " + std::strerror(errno),
                        Exit::rank_lost);
        at_peer.address += done;
        own += done;
        bytes -= as_size(done);
    }
}

}  // namespace

void PeerMemory::read(std::byte* into, std::size_t bytes) const {
    copy_all(process_vm_readv, *this, into, bytes);
}

void PeerMemory::write(const std::byte* from, std::size_t bytes) const {
    copy_all(process_vm_writev, *this, const_cast<std::byte*>(from), bytes);
}

namespace {

std::optional<std::string> try_to_copy(World& world) {
    // Some systems let only a process's parents reach its memory, unless it allows other processes
    // to.
    prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY, 0, 0, 0);
    // In another container the same process number is another process: the token identifies the
    // peer.
    struct CopyTrial {
        PeerMemory where;
        std::uint64_t token;
    };
    std::uint64_t token = std::random_device{}() | std::uint64_t{1} << 32;
    const CopyTrial mine{{getpid(), reinterpret_cast<std::byte*>(&token)}, token};
    const auto problem_with = [](const CopyTrial& of_peer) -> const char* {
        std::uint64_t read_token = 0;
        const auto copies_token = [&](CopyBetweenProcesses copy) {
            return copy_some(copy, of_peer.where, reinterpret_cast<std::byte*>(&read_token),
                             sizeof read_token) == sizeof read_token;
        };
        if (!copies_token(process_vm_readv))
            return "process_vm_readv is refused (ptrace_scope or a container's rules?)";
        if (read_token != of_peer.token)
            return "process_vm_readv reaches other processes than the ranks (containers?)";
        if (!copies_token(process_vm_writev))  // the same token
            return "process_vm_writev is refused (a container's rules?)";
        return nullptr;
    };
    const char* problem = problem_with(mine);
    if (world.one_process())
        return problem == nullptr ? std::nullopt : std::optional<std::string>(problem);
    const auto trials = gather_all(world, mine);
    for (const Rank peer : world.ranks_of_host())
        if (problem == nullptr) problem = problem_with(at(trials, peer));
    // The token must stay until all ranks have copied it; this exchange waits for that.
    if (!true_on_all_ranks(world, problem == nullptr))
        return problem != nullptr
                   ? problem
                   : "process_vm_readv or process_vm_writev is refused on another rank";
    return std::nullopt;
}

std::optional<std::string> try_to_share(World& world) {
    if (!world.one_host()) return "shared memory: the ranks are on several hosts";
    if (world.one_process()) return std::nullopt;
    try {
        make_on_all_ranks(world, "shared memory", [&] { return shared_piece(world, 1); });
        return std::nullopt;
    } catch (const Error& error) {
        if (error.code() != Exit::usage) throw;  // a rank is lost or late
        return error.what();
    }
}

// Trials have shown this of the peers of a world.
struct KnownOfPeers {
    std::optional<std::optional<std::string>> copying, sharing;

    bool all_works() const { return copying && !*copying && sharing && !*sharing; }
};

KnownOfPeers& known_of_peers(World& world) {
    return world.attribute<KnownOfPeers>([] { return std::make_unique<KnownOfPeers>(); });
}

// The processes with which both have worked, by World::processes.
class KnownProcesses {
public:
    bool have_all(std::span<const std::uint64_t> processes) {
        const std::lock_guard lock(mutex_);
        return std::ranges::all_of(processes,
                                   [&](std::uint64_t one) { return known_.contains(one); });
    }
    void add(std::span<const std::uint64_t> processes) {
        const std::lock_guard lock(mutex_);
        known_.insert(processes.begin(), processes.end());
    }

private:
    std::mutex mutex_;
    std::set<std::uint64_t> known_;
};
KnownProcesses known_processes;

using Trial = std::optional<std::string> (*)(World&);

std::optional<std::string> find_out(World& world, Trial trial,
                                    std::optional<std::optional<std::string>> KnownOfPeers::*what) {
    KnownOfPeers& known = known_of_peers(world);
    if (!(known.*what)) {
        known.*what = trial(world);
        if (known.all_works()) known_processes.add(world.processes);
    }
    return *(known.*what);
}

}  // namespace

std::optional<std::string> peer_memory_refuses(World& world) {
    auto refusal = find_out(world, try_to_copy, &KnownOfPeers::copying);
    world.refuses_peer_memory = refusal.has_value();
    return refusal;
}

std::optional<std::string> shared_memory_refuses(World& world) {
    return find_out(world, try_to_share, &KnownOfPeers::sharing);
}

bool knows_all_peers(const World& world) {
    return world.one_process() || (world.one_host() && !world.processes.empty() &&
                                   known_processes.have_all(world.processes));
}

void trust_known_peers(World& world) {
    if (world.one_process()) return;  // needs no exchange
    known_of_peers(world) = {.copying = std::optional<std::string>(),
                             .sharing = std::optional<std::string>()};
}

}  // namespace tutti
