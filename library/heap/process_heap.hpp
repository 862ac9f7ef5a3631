// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <atomic>
#include <cstddef>

#include "library/heap/arena_heap.hpp"

namespace tutti::heap {

/// The process's heap of large allocations. It has no memory before the first of them.
class ProcessHeap {
public:
    constexpr ProcessHeap() = default;

    /// When the program starts. Before, and where the heap is off, every allocation is the next
    /// allocator's.
    void begin(const Settings& settings);

    /// Null if this is for the next allocator: it is small, or the heap cannot have as much.
    void* allocate(std::size_t bytes, std::size_t alignment, Content content) {
        if (bytes < threshold_.load(std::memory_order_relaxed)) return nullptr;
        return allocate_large(bytes, alignment, content);
    }
    /// The same below the threshold, too, unless the heap is off.
    void* allocate_any(std::size_t bytes, std::size_t alignment) {
        const bool is_on = threshold_.load(std::memory_order_relaxed) != SIZE_MAX;
        return is_on && is_started() ? arena_.allocate(bytes, alignment, Content::any) : nullptr;
    }

    ArenaHeap& arena() { return arena_; }

    void before_fork();
    void after_fork_in_parent();
    void after_fork_in_child();

private:
    enum class State { not_started, started, failed };

    bool is_started() {
        return state_.load(std::memory_order_acquire) == State::started || start();
    }
    bool start();
    void* allocate_large(std::size_t bytes, std::size_t alignment, Content content);

    std::atomic<std::size_t> threshold_ = SIZE_MAX;
    std::atomic<State> state_ = State::not_started;
    Mutex starting_;
    Settings settings_;
    ArenaHeap arena_;
};

extern ProcessHeap process_heap;

}  // namespace tutti::heap
