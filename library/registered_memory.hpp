// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <map>
#include <memory>
#include <span>
#include <vector>

#include "collectives/world/shared_memory.hpp"
#include "library/call_key.hpp"

namespace tutti {

/// Memory that peers can reach, dealt out in pieces: from few large arenas, as a plan takes input
/// and output from one. An arena costs addresses; memory only where it is touched. All ranks
/// allocate and release alike, so pieces have equal places on all.
class RegisteredMemory {
public:
    explicit RegisteredMemory(World& world) : world_(world) {}

    /// Zeroed, at a cache line of its own. Unregistered memory where ranks cannot share any.
    /// Collective.
    std::span<std::byte> allocate(std::size_t bytes);
    /// Throws Error if it was not allocated here.
    void release(std::span<std::byte> memory);

    /// Memory that the ranks share already; nothing is allocated in it. It lives until disown(), or
    /// longer than this. All ranks adopt and disown alike.
    void adopt(const ReachableMemory& memory);
    /// The number that its arena had, which the next one adopted may get; -1 if it was none.
    std::int32_t disown(const ReachableMemory& memory);

    /// Where the buffer lies; of no arena if it is (partly) unregistered memory.
    RegisteredPlace place_of(std::span<const std::byte> buffer) const;
    /// Null for none.
    const ReachableMemory* arena(std::int32_t number) const;

private:
    struct Arena {
        const ReachableMemory* shared = nullptr;  // none where the ranks cannot share any
        std::unique_ptr<SharedMemory> own;        // the same, unless it was adopted
        std::unique_ptr<std::byte[]> unregistered;
        std::span<std::byte> memory;
        std::map<std::size_t, std::size_t> free;  // offset, bytes; neighbours are joined
        std::map<std::size_t, std::size_t> used;
    };
    Arena& new_arena(std::size_t at_least);
    static std::span<std::byte> take(Arena& arena, std::size_t bytes);

    World& world_;
    std::vector<Arena> arenas_;
};

}  // namespace tutti
