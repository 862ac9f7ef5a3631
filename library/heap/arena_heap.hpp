// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <pthread.h>

#include <atomic>
#include <cstddef>

#include "library/heap/arena_file.hpp"
#include "library/heap/extents.hpp"
#include "library/heap/program_pages.hpp"

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

enum class Content { any, zero };

/// A heap of whole pages in memory that peers can map. What it knows of the pages lies in memory of
/// this process alone. Any number of threads may use it.
class ArenaHeap {
public:
    constexpr ArenaHeap() = default;

    /// False if the system refuses the memory, and then for ever.
    bool start(const Settings& settings);

    /// Null if there is no more; `alignment` is a power of two.
    void* allocate(std::size_t bytes, std::size_t alignment, Content content);
    void release(void* memory);
    /// Without moving it. False, with nothing changed, if something else is behind it.
    bool resize(void* memory, std::size_t bytes);
    std::size_t usable_bytes(const void* memory) const;

    bool holds(const void* address) const { return file_.holds(address); }
    /// Whether a forked child would write to this memory, too, as long as it has no copy.
    bool shares(const void* address) const {
        return holds(address) && file_.is_shared() &&
               is_of_heap(program_pages_.at(page_of(address)));
    }
    /// False if the program has mapped over, unmapped or protected a part of this memory.
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

    // Around a fork. The heap is locked from before_fork() until one of the others, which the child
    // and the parent call each for itself.
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
    std::atomic<bool> is_forking_ = false;  // who gives memory back lets it go first
    bool is_abandoned_ = false;             // a child that was to execute another program
    Mutex giving_back_;                     // by one thread at a time; locked before the others
    RecursiveMutex program_calls_;          // held in map() to detach(); locked before mutex_
    mutable Mutex mutex_;
};

}  // namespace tutti::heap
