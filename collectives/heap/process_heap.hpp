// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <atomic>
#include <cstddef>

#include "collectives/heap/arena_heap.hpp"

namespace tutti::heap {

/// The process's heap of large allocations. It takes no memory before the first one.
class ProcessHeap {
public:
    constexpr ProcessHeap() = default;

    /// Enables the heap. Until then, and if the heap is off, the next allocator serves all
    /// allocations.
    void begin(const Settings& settings);

    /// Returns null if the next allocator must serve this: it is small, or the heap is full.
    void* allocate(std::size_t bytes, std::size_t alignment, Content content) {
        if (bytes < threshold_.load(std::memory_order_relaxed)) return nullptr;
        return allocate_large(bytes, alignment, content);
    }
    /// Like allocate(), but also below the threshold. Returns null if the heap is off.
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
