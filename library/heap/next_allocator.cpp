// SPDX-License-Identifier: Apache-2.0
#include "library/heap/next_allocator.hpp"

#include <dlfcn.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdint>
#include <cstring>

namespace tutti::heap::next {
namespace {

struct Functions {
    void* (*malloc)(std::size_t);
    void* (*calloc)(std::size_t, std::size_t);
    void* (*realloc)(void*, std::size_t);
    void (*free)(void*);
    int (*posix_memalign)(void**, std::size_t, std::size_t);
    std::size_t (*malloc_usable_size)(void*);
};

constinit Functions functions{};

template <class Function>
void find(Function& function, const char* name) {
    function = reinterpret_cast<Function>(dlsym(RTLD_NEXT, name));
}

// False while they are being looked up, for which the system may itself allocate.
bool are_found() {
    enum class State { not_yet, now, done };
    static constinit std::atomic<State> state = State::not_yet;
    if (state.load(std::memory_order_acquire) == State::done) return true;
    State expected = State::not_yet;
    if (!state.compare_exchange_strong(expected, State::now)) return expected == State::done;
    find(functions.malloc, "malloc");
    find(functions.calloc, "calloc");
    find(functions.realloc, "realloc");
    find(functions.free, "free");
    find(functions.posix_memalign, "posix_memalign");
    find(functions.malloc_usable_size, "malloc_usable_size");
    state.store(State::done, std::memory_order_release);
    return true;
}

// What the system allocates for that look-up: some hundred bytes, which are never freed.
class Scratch {
public:
    void* allocate(std::size_t bytes) {
        if (bytes > sizeof memory_) return nullptr;
        const std::size_t with_size = unit + (bytes + unit - 1) / unit * unit;
        const std::size_t begin = used_.fetch_add(with_size);
        if (begin + with_size > sizeof memory_) return nullptr;
        std::memcpy(memory_ + begin, &bytes, sizeof bytes);
        return memory_ + begin + unit;
    }
    bool holds(const void* memory) const {
        return reinterpret_cast<std::uintptr_t>(memory) -
                   reinterpret_cast<std::uintptr_t>(memory_) <
               sizeof memory_;
    }
    static std::size_t bytes_of(const void* memory) {
        std::size_t bytes = 0;
        std::memcpy(&bytes, static_cast<const std::byte*>(memory) - unit, sizeof bytes);
        return bytes;
    }

private:
    static constexpr std::size_t unit = alignof(std::max_align_t);
    alignas(unit) std::byte memory_[16384] = {};
    std::atomic<std::size_t> used_ = 0;
};

constinit Scratch scratch;

}  // namespace

void* malloc(std::size_t bytes) {
    return are_found() ? functions.malloc(bytes) : scratch.allocate(bytes);
}

void* calloc(std::size_t count, std::size_t bytes) {
    return are_found() ? functions.calloc(count, bytes) : scratch.allocate(count * bytes);
}

void* realloc(void* memory, std::size_t bytes) {
    if (are_found() && !scratch.holds(memory)) return functions.realloc(memory, bytes);
    void* const moved = malloc(bytes);
    if (moved != nullptr && memory != nullptr)
        std::memcpy(moved, memory, std::min(bytes, usable_bytes(memory)));
    return moved;
}

void free(void* memory) {
    if (!scratch.holds(memory) && are_found()) functions.free(memory);
}

void* aligned(std::size_t alignment, std::size_t bytes) {
    void* memory = nullptr;
    const int error = are_found() ? functions.posix_memalign(&memory, alignment, bytes) : ENOMEM;
    if (error == 0) return memory;
    errno = error;
    return nullptr;
}

std::size_t usable_bytes(void* memory) {
    if (scratch.holds(memory)) return Scratch::bytes_of(memory);
    return are_found() ? functions.malloc_usable_size(memory) : 0;
}

}  // namespace tutti::heap::next
