// SPDX-License-Identifier: Apache-2.0
#include "collectives/heap/next_functions.hpp"

#include <dlfcn.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdarg>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "collectives/heap/system_calls.hpp"

namespace tutti::heap::next {
namespace {

// A system call with the type of the C library's function.
template <long number, class Result, class... Arguments>
Result direct(Arguments... arguments) {
    const long result = syscall(number, arguments...);
    if constexpr (std::is_pointer_v<Result>)
        return reinterpret_cast<Result>(result);
    else
        return static_cast<Result>(result);
}

void* direct_mremap(void* address, std::size_t bytes, std::size_t new_bytes, int flags, ...) {
    va_list more;
    va_start(more, flags);
    void* const to = va_arg(more, void*);
    va_end(more);
    return direct<SYS_mremap, void*>(address, bytes, new_bytes, flags, to);
}

template <class Function>
void find(Function& function, const char* name) {
    if (auto* const found = reinterpret_cast<Function>(dlsym(RTLD_NEXT, name))) function = found;
}

struct Allocator {
    void* (*malloc)(std::size_t);
    void* (*calloc)(std::size_t, std::size_t);
    void* (*realloc)(void*, std::size_t);
    void (*free)(void*);
    int (*posix_memalign)(void**, std::size_t, std::size_t);
    std::size_t (*malloc_usable_size)(void*);
};

constinit Allocator allocator{};

// Returns false while the functions are being looked up, which may itself allocate.
bool are_found() {
    enum class State { not_yet, now, done };
    static constinit std::atomic<State> state = State::not_yet;
    if (state.load(std::memory_order_acquire) == State::done) return true;
    State expected = State::not_yet;
    if (!state.compare_exchange_strong(expected, State::now)) return expected == State::done;
    find(allocator.malloc, "malloc");
    find(allocator.calloc, "calloc");
    find(allocator.realloc, "realloc");
    find(allocator.free, "free");
    find(allocator.posix_memalign, "posix_memalign");
    find(allocator.malloc_usable_size, "malloc_usable_size");
    state.store(State::done, std::memory_order_release);
    return true;
}

// Memory for allocations during that look-up: some hundred bytes, which are never freed.
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

constinit Calls calls{.mmap = direct<SYS_mmap>,
                      .munmap = direct<SYS_munmap>,
                      .mremap = direct_mremap,
                      .madvise = direct<SYS_madvise>,
                      .mprotect = direct<SYS_mprotect>,
                      .pkey_mprotect = direct<SYS_pkey_mprotect>,
                      .remap_file_pages = direct<SYS_remap_file_pages>,
                      .shmat = direct<SYS_shmat>,
                      .shmdt = direct<SYS_shmdt>};

void find_calls() {
    find(calls.mmap, "mmap");
    find(calls.munmap, "munmap");
    find(calls.mremap, "mremap");
    find(calls.madvise, "madvise");
    find(calls.mprotect, "mprotect");
    find(calls.pkey_mprotect, "pkey_mprotect");
    find(calls.remap_file_pages, "remap_file_pages");
    find(calls.shmat, "shmat");
    find(calls.shmdt, "shmdt");
}

void* malloc(std::size_t bytes) {
    return are_found() ? allocator.malloc(bytes) : scratch.allocate(bytes);
}

void* calloc(std::size_t count, std::size_t bytes) {
    return are_found() ? allocator.calloc(count, bytes) : scratch.allocate(count * bytes);
}

void* realloc(void* memory, std::size_t bytes) {
    if (are_found() && !scratch.holds(memory)) return allocator.realloc(memory, bytes);
    void* const moved = malloc(bytes);
    if (moved != nullptr && memory != nullptr)
        std::memcpy(moved, memory, std::min(bytes, usable_bytes(memory)));
    return moved;
}

void free(void* memory) {
    if (!scratch.holds(memory) && are_found()) allocator.free(memory);
}

void* aligned(std::size_t alignment, std::size_t bytes) {
    void* memory = nullptr;
    const int error = are_found() ? allocator.posix_memalign(&memory, alignment, bytes) : ENOMEM;
    if (error == 0) return memory;
    errno = error;
    return nullptr;
}

std::size_t usable_bytes(void* memory) {
    if (scratch.holds(memory)) return Scratch::bytes_of(memory);
    return are_found() ? allocator.malloc_usable_size(memory) : 0;
}

}  // namespace tutti::heap::next
