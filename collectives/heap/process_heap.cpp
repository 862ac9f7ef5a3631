// SPDX-License-Identifier: Apache-2.0
#include "collectives/heap/process_heap.hpp"

#include <cstdlib>
#include <mutex>

#include "collectives/heap/next_functions.hpp"

namespace tutti::heap {

constinit ProcessHeap process_heap;

void ProcessHeap::begin(const Settings& settings) {
    next::find_calls();
    if (settings.threshold == SIZE_MAX) return;
    settings_ = settings;
    pthread_atfork([] { process_heap.before_fork(); }, [] { process_heap.after_fork_in_parent(); },
                   [] { process_heap.after_fork_in_child(); });
    threshold_ = settings.threshold;
}

bool ProcessHeap::start() {
    if (state_.load(std::memory_order_acquire) == State::failed) return false;
    const std::lock_guard lock(starting_);
    if (state_ == State::not_started)
        state_ = arena_.start(settings_) ? State::started : State::failed;
    return state_ == State::started;
}

// Not inlined, so that allocate() saves no registers for small allocations.
void* ProcessHeap::allocate_large(std::size_t bytes, std::size_t alignment, Content content) {
    return is_started() ? arena_.allocate(bytes, alignment, content) : nullptr;
}

void ProcessHeap::before_fork() {
    if (arena_.shares(__builtin_frame_address(0))) {
        // Parent and child would run on the same memory until the child has its copy.
        say("a thread whose stack is in this heap cannot fork; set TUTTI_HEAP_THRESHOLD above the "
            "stack size");
        std::abort();
    }
    starting_.lock();
    if (state_ == State::started) arena_.before_fork();
}

void ProcessHeap::after_fork_in_parent() {
    if (state_ == State::started) arena_.after_fork_in_parent();
    starting_.unlock();
}

void ProcessHeap::after_fork_in_child() {
    if (state_ == State::started) arena_.after_fork_in_child();
    starting_.unlock();
}

namespace {

// The library is initialised before all others (-z initfirst), so its fork handlers run last before
// a fork and first after it. So writes of other handlers before the fork are in the child's copy,
// and writes after it go to the child's own memory. getenv() does not work this early.
__attribute__((constructor)) void begin_process_heap(int, char**, char** environment) {
    process_heap.begin(settings_from(environment));
}

}  // namespace
}  // namespace tutti::heap
