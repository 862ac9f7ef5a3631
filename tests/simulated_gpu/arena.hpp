// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <map>
#include <mutex>

#include "base/rounding.hpp"

namespace tutti::simulated {

/// The location of GPU memory in a file of this process, for another process to map.
struct ArenaKey {
    int process, file;
    std::size_t offset, bytes;
};

/// The memory of one GPU. New memory contains garbage, and writes past its end are detected when it
/// is released.
class Arena {
public:
    explicit Arena(std::size_t bytes);
    ~Arena();
    Arena(const Arena&) = delete;
    Arena& operator=(const Arena&) = delete;

    /// Null if there is no room.
    std::byte* allocate(std::size_t bytes);
    /// Returns false if this was not allocated. Ends the program after a write past its end.
    bool release(std::byte* memory);

    bool owns(const void* address) const;
    /// Whether these bytes lie in one allocation.
    bool has(const void* address, std::size_t bytes) const;
    ArenaKey key_of(const std::byte* memory) const;

    std::size_t size() const { return size_; }
    std::size_t free_bytes() const;

private:
    static constexpr std::size_t unit = 512, guard = 512;

    // Returns the size of an allocation with its guard.
    static std::size_t room_for(std::size_t bytes) { return round_up(bytes, unit) + guard; }

    std::size_t size_;
    int file_ = -1;
    std::byte* memory_ = nullptr;
    mutable std::mutex mutex_;
    std::map<std::size_t, std::size_t> used_;  // bytes by offset
};

/// Maps memory of another process's GPU; null on failure.
std::byte* map_arena(const ArenaKey& key);
/// Returns false if it was not mapped.
bool unmap_arena(std::byte* memory);
/// Whether these bytes lie in mapped memory.
bool is_mapped(const void* address, std::size_t bytes);

}  // namespace tutti::simulated
