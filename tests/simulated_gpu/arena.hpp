// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <map>
#include <mutex>

#include "base/rounding.hpp"

namespace tutti::simulated {

/// Where memory of a GPU lies in a file of this process, for another one to map.
struct ArenaKey {
    int process, file;
    std::size_t offset, bytes;
};

/// The memory of one GPU. What is new holds rubbish, and what was written beside it is noticed when
/// it is released.
class Arena {
public:
    explicit Arena(std::size_t bytes);
    ~Arena();
    Arena(const Arena&) = delete;
    Arena& operator=(const Arena&) = delete;

    /// Null if there is no room.
    std::byte* allocate(std::size_t bytes);
    /// False if nothing of the kind was allocated. Ends the program if something wrote beside it.
    bool release(std::byte* memory);

    bool owns(const void* address) const;
    /// Whether so many bytes from there on lie in one allocation.
    bool has(const void* address, std::size_t bytes) const;
    ArenaKey key_of(const std::byte* memory) const;

    std::size_t size() const { return size_; }
    std::size_t free_bytes() const;

private:
    static constexpr std::size_t unit = 512, guard = 512;

    // Of an allocation: what its memory and the guard behind it take.
    static std::size_t room_for(std::size_t bytes) { return round_up(bytes, unit) + guard; }

    std::size_t size_;
    int file_ = -1;
    std::byte* memory_ = nullptr;
    mutable std::mutex mutex_;
    std::map<std::size_t, std::size_t> used_;  // bytes by offset
};

/// Memory of a GPU of another process; null if it is not to be had.
std::byte* map_arena(const ArenaKey& key);
/// False if that was not mapped.
bool unmap_arena(std::byte* memory);
/// Whether so many bytes from there on lie in what was mapped.
bool is_mapped(const void* address, std::size_t bytes);

}  // namespace tutti::simulated
