// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "library/heap/settings.hpp"
#include "library/heap/tutti_heap.h"

namespace tutti::heap {

/// Memory that peers can map: a file without a name, and the range of addresses where this process
/// has it. The range is reserved once; the file grows into it. All the system calls of an arena are
/// here, made so that no library's hook (UCX, Open MPI) is called where it could allocate.
class ArenaFile {
public:
    constexpr ArenaFile() = default;

    /// Reserves up to `most` bytes, less where the system sets limits or has less memory, and makes
    /// the file. False if the system refuses.
    bool open(std::size_t most, AfterFork after_fork);

    /// At least so many bytes more, which are zero. False if that is more than the range has, or
    /// the system refuses.
    bool grow(std::size_t bytes);

    /// Gives the memory of these pages back; they are zero from now on. False if the system
    /// refuses. Libraries that know where pages lie are told, so no lock of the heap may be held.
    bool discard(std::byte* begin, std::size_t bytes);

    /// Frees these bytes of the file, which read as zero from then on. Also works where the program
    /// has mapped something over them.
    void clear(std::size_t from, std::size_t bytes);

    /// Maps the file again where the program has mapped something over it. False if the system
    /// refuses. UCX and Open MPI watch this call and may allocate: hold no lock that allocating
    /// needs.
    bool map_again(std::size_t from, std::size_t bytes);

    bool holds(const void* address) const {
        const std::size_t most = this->most();  // before this is known nothing is held
        return reinterpret_cast<std::uintptr_t>(address) - begin_.load(std::memory_order_relaxed) <
               most;
    }
    bool locate(const void* address, std::size_t bytes, tutti_heap_place& place) const;

    std::byte* begin() const {
        return reinterpret_cast<std::byte*>(begin_.load(std::memory_order_relaxed));
    }
    std::size_t bytes() const { return bytes_.load(std::memory_order_acquire); }
    std::size_t most() const { return most_.load(std::memory_order_acquire); }

    /// Copies what these bytes hold to the same place of `copy`, but for pages that were never
    /// written.
    void copy_out(std::size_t from, std::size_t bytes, std::byte* copy) const;

    /// The same for pages that the program may have protected against reading.
    void copy_protected(std::size_t from, std::size_t bytes, std::byte* copy) const;

    bool is_shared() const { return descriptor_ >= 0; }
    /// In a forked child, once: closes the file that the parent's arena is in.
    void let_go();
    /// After let_go(): moves these bytes of `copy` to the place of the shared memory. `copy` is
    /// private memory as large as the arena. False if the system refuses.
    bool put_copy(std::size_t from, std::size_t bytes, std::byte* copy);
    /// In a forked child that has no copy: nothing of the arena can be reached any more.
    void abandon();

private:
    void advise_mapped(std::byte* begin, std::size_t bytes);
    bool is_open() const;  // the program may have closed it, and opened another under its number

    std::atomic<std::uintptr_t> begin_ = 0;
    std::atomic<std::size_t> most_ = 0, bytes_ = 0;
    AfterFork after_fork_ = AfterFork::copy;
    int descriptor_ = -1;  // none: private
    std::int64_t process_ = 0;
    std::uint64_t device_ = 0, inode_ = 0;
};

}  // namespace tutti::heap
