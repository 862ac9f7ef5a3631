// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <pthread.h>
#include <sys/mman.h>

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "collectives/heap/extents.hpp"
#include "collectives/heap/settings.hpp"
#include "collectives/heap/tutti_heap.h"

namespace tutti::heap {

/// A lock that needs neither a constructor at run time nor the C++ library.
class Mutex {
public:
    void lock() { pthread_mutex_lock(&mutex_); }
    bool try_lock() { return pthread_mutex_trylock(&mutex_) == 0; }
    void unlock() { pthread_mutex_unlock(&mutex_); }

private:
    pthread_mutex_t mutex_ = PTHREAD_ADAPTIVE_MUTEX_INITIALIZER_NP;
};

/// The same, but a thread that holds the lock may lock it again. A forked child must renew() it,
/// because it stores the number of the parent's thread.
class RecursiveMutex {
public:
    void lock() { pthread_mutex_lock(&mutex_); }
    void unlock() { pthread_mutex_unlock(&mutex_); }
    void renew() { mutex_ = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP; }

private:
    pthread_mutex_t mutex_ = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;
};

/// Memory that peers can map: a file without a name, mapped into this process. The address range is
/// reserved once; the file grows into it. All system calls of an arena are in this class. They
/// bypass the hooks of other libraries (UCX, Open MPI) wherever a hook might allocate.
class ArenaFile {
public:
    constexpr ArenaFile() = default;

    /// Reserves up to `most` bytes of addresses and creates the file. Reserves less if a system
    /// limit or the memory size requires it. Returns false if the system refuses.
    bool open(std::size_t most, AfterFork after_fork);

    /// Adds at least this many zero bytes. Returns false if the range is exhausted or the system
    /// refuses.
    bool grow(std::size_t bytes);

    /// Returns the memory of these pages to the system; they read as zero afterwards. Returns false
    /// if the system refuses. Hooks of other libraries run, so hold no lock of the heap.
    bool discard(std::byte* begin, std::size_t bytes);

    /// Frees these bytes of the file, which then read as zero. Also works where the program has
    /// mapped something over them.
    void clear(std::size_t from, std::size_t bytes);

    /// Maps the file again where the program has mapped something over it. Returns false if the
    /// system refuses. UCX and Open MPI watch this call and may allocate: hold no lock that
    /// allocating needs.
    bool map_again(std::size_t from, std::size_t bytes);

    bool holds(const void* address) const {
        const std::size_t most = this->most();  // 0 before open(): holds nothing
        return reinterpret_cast<std::uintptr_t>(address) - begin_.load(std::memory_order_relaxed) <
               most;
    }
    bool locate(const void* address, std::size_t bytes, tutti_heap_place& place) const;

    std::byte* begin() const {
        return reinterpret_cast<std::byte*>(begin_.load(std::memory_order_relaxed));
    }
    std::size_t bytes() const { return bytes_.load(std::memory_order_acquire); }
    std::size_t most() const { return most_.load(std::memory_order_acquire); }

    /// Copies these bytes to the same offset of `copy`. Skips pages that were never written.
    void copy_out(std::size_t from, std::size_t bytes, std::byte* copy) const;

    /// The same for pages that the program may have protected against reading.
    void copy_protected(std::size_t from, std::size_t bytes, std::byte* copy) const;

    bool is_shared() const { return descriptor_ >= 0; }
    /// Closes the file of the parent's arena. A forked child calls this once.
    void let_go();
    /// Moves these bytes of `copy` to the addresses of the shared memory, after let_go(). `copy` is
    /// private memory of the arena's size. Returns false if the system refuses.
    bool put_copy(std::size_t from, std::size_t bytes, std::byte* copy);
    /// Makes the arena inaccessible in a forked child that has no copy.
    void abandon();

private:
    void advise_mapped(std::byte* begin, std::size_t bytes);
    bool is_open() const;  // the program may have closed it, and opened another with its number

    std::atomic<std::uintptr_t> begin_ = 0;
    std::atomic<std::size_t> most_ = 0, bytes_ = 0;
    AfterFork after_fork_ = AfterFork::copy;
    int descriptor_ = -1;  // -1: the memory is private
    std::int64_t process_ = 0;
    std::uint64_t device_ = 0, inode_ = 0;
};

/// State of a page inside an allocation: who maps memory there, and with which protection.
using PageState = std::uint8_t;
constexpr PageState own = 0;       ///< the heap's memory, readable and writable
constexpr PageState replaced = 1;  ///< the program has mapped other memory there
constexpr PageState unmapped = 2;  ///< the program has unmapped it; the addresses stay reserved
constexpr PageState attached = 3;  ///< like `replaced`, by shmat or mremap: shmdt may unmap it
/// The program left a gap, and other memory may have been mapped there before the heap reserved it.
/// The heap never maps its own there again, unless the program unmaps it.
constexpr PageState lost = 4;
/// The heap's memory, with a protection (PROT_READ, ...) that the program has set.
constexpr PageState protected_as(int protection) {
    return static_cast<PageState>(64 | (protection & 7));
}
/// The heap's memory with guards (MADV_GUARD_INSTALL), whatever its protection is.
constexpr PageState guarded = protected_as(PROT_READ | PROT_WRITE) | 8;
/// The heap's memory, after guards were removed or a change of the protection failed: the effective
/// protection is unknown. A forked child may read and write it.
constexpr PageState uncertain = protected_as(PROT_READ | PROT_WRITE) | 16;
constexpr bool is_protected(PageState state) { return (state & 64) != 0; }
constexpr int protection_of(PageState state) { return state & 7; }
/// Returns whether the page shows memory of the heap.
constexpr bool is_of_heap(PageState state) { return state == own || is_protected(state); }
/// Returns whether the program has other memory there, or may have it.
constexpr bool is_of_program(PageState state) { return !is_of_heap(state) && state != unmapped; }

/// Consecutive pages.
struct Pages {
    Page first = 0;
    Page count = 0;
};

/// Records which pages of allocations the program has mapped over, unmapped or protected.
/// It never reads the pages themselves. A thread may look up a page without a lock if no other
/// thread changes that page at the same time.
class ProgramPages {
public:
    constexpr ProgramPages() = default;
    /// Call once. `table` has a zero for each page that the heap can ever have.
    void start(PageState* table) { table_ = table; }

    /// Returns true while all pages are `own`, as in most programs.
    bool is_empty() const { return count_.load(std::memory_order_acquire) == 0; }
    bool all_are(Pages pages, PageState state) const;
    bool all_are_own(Pages pages) const { return is_empty() || all_are(pages, own); }
    PageState at(Page page) const { return table_[page]; }
    void set(Pages pages, PageState state);

    /// Grows whenever the state of a page changes.
    const std::uint64_t* changes() const { return &changes_; }

    /// Calls function(pages, state) for each row of pages of one state. It may set() that row.
    template <class Function>
    void for_each_row(Pages pages, Function&& function) const {
        if (pages.count == 0) return;
        if (is_empty()) return function(pages, own);
        const std::uint64_t end = std::uint64_t{pages.first} + pages.count;
        for (std::uint64_t first = pages.first; first < end;) {
            const PageState state = table_[first];
            std::uint64_t next = first + 1;
            while (next < end && table_[next] == state) ++next;
            function(Pages{static_cast<Page>(first), static_cast<Page>(next - first)}, state);
            first = next;
        }
    }

private:
    PageState* table_ = nullptr;
    std::atomic<std::uint64_t> count_ = 0;  // number of pages that are not `own`
    std::uint64_t changes_ = 0;
};

enum class Content { any, zero };

/// A heap of whole pages in memory that peers can map. Its bookkeeping lies in private memory of
/// this process. It is thread-safe.
class ArenaHeap {
public:
    constexpr ArenaHeap() = default;

    /// Returns false if the system refuses the memory. Then do not call it again.
    bool start(const Settings& settings);

    /// Returns null if the heap is full. `alignment` is a power of two.
    void* allocate(std::size_t bytes, std::size_t alignment, Content content);
    void release(void* memory);
    /// Resizes without moving. Returns false, with nothing changed, if the pages after it are used.
    bool resize(void* memory, std::size_t bytes);
    std::size_t usable_bytes(const void* memory) const;

    bool holds(const void* address) const { return file_.holds(address); }
    /// Returns whether a forked child would write to this same memory until it has a copy.
    bool shares(const void* address) const {
        return holds(address) && file_.is_shared() &&
               is_of_heap(program_pages_.at(page_of(address)));
    }
    /// Returns false if the program has mapped over, unmapped or protected a part of this memory.
    bool locate(const void* address, std::size_t bytes, tutti_heap_place& place) const {
        return file_.locate(address, bytes, place) &&
               program_pages_.all_are_own(pages_in(address, bytes));
    }
    /// A counter that grows whenever locate() may answer differently for allocated memory.
    const std::uint64_t* changes() const { return program_pages_.changes(); }

    // Calls of the program that change the mapping of an address in this heap, or of `to`. They do
    // what the C library's functions do, and record it. When the memory is freed, the heap maps its
    // own pages there again.
    void* map(void* address, std::size_t bytes, int protection, int flags, int file, off_t offset);
    int unmap(void* address, std::size_t bytes);
    void* move(void* address, std::size_t bytes, std::size_t new_bytes, int flags, void* to);
    int give_advice(void* address, std::size_t bytes, int advice);
    static constexpr int no_key = -1;
    int protect(void* address, std::size_t bytes, int protection, int key = no_key);
    int remap(void* address, std::size_t bytes, int protection, std::size_t page, int flags);
    void* attach(int segment, const void* address, int flags);
    int detach(const void* address);

    // Handlers around a fork. before_fork() locks the heap; parent and child each unlock theirs.
    void before_fork();
    void after_fork_in_parent();
    void after_fork_in_child();

private:
    Page page_of(const void* memory) const;
    std::uint64_t pages_for(std::size_t bytes) const;
    std::byte* address_of(Page page) const { return file_.begin() + page * page_bytes_; }
    std::optional<Extent> take(std::size_t bytes, std::size_t alignment);
    bool grow(std::uint64_t pages);
    void give_back(std::uint64_t pages_to_keep);
    std::byte* copy_of_used() const;
    bool become_private();
    Page pages_of(Page first) const;
    Pages pages_in(const void* address, std::size_t bytes) const;
    bool is_unmapped(const void* address, std::size_t bytes) const;
    bool is_page(const void* address) const;
    std::size_t in_whole_pages(std::size_t bytes) const;
    void set_state(Pages pages, PageState state);
    bool all_are_of_program(Pages pages) const;
    void reserve_if_free(Pages pages);
    bool restore(Pages pages);
    void* move_copy(std::byte* from, std::size_t bytes, std::size_t new_bytes, int flags, void* to);
    void unlock_after_fork();

    ArenaFile file_;
    Extents extents_;
    ProgramPages program_pages_;
    std::size_t page_bytes_ = 0;
    std::uint64_t retained_pages_ = 0;
    AfterFork after_fork_ = AfterFork::copy;
    std::byte* copy_ = nullptr;             // for the child, while this process forks
    std::atomic<bool> is_forking_ = false;  // tells give_back() to stop
    bool is_abandoned_ = false;             // in a child that may only execute another program
    Mutex giving_back_;                     // held in give_back(); locked before the others
    RecursiveMutex program_calls_;          // held in map() to detach(); locked before mutex_
    mutable Mutex mutex_;
};

}  // namespace tutti::heap
