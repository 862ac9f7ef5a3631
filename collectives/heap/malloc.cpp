// SPDX-License-Identifier: Apache-2.0
// Replaces malloc and related functions. The heap serves large allocations. The next allocator
// serves all others, and large ones if the heap is full. Operator new of libstdc++ and libc++ calls
// these functions.
#include <malloc.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <cstring>

#include "collectives/heap/next_functions.hpp"
#include "collectives/heap/process_heap.hpp"

#define TUTTI_EXPORTED extern "C" __attribute__((visibility("default")))

namespace tutti::heap {
namespace {

bool is_ours(const void* memory) { return process_heap.arena().holds(memory); }

std::size_t page_bytes() { return static_cast<std::size_t>(sysconf(_SC_PAGESIZE)); }

void* allocate(std::size_t bytes, Content content) {
    return process_heap.allocate(bytes, 1, content);
}

// `alignment` is a power of two.
void* allocate_aligned(std::size_t alignment, std::size_t bytes) {
    if (void* const memory = process_heap.allocate(bytes, alignment, Content::any)) return memory;
    return next::aligned(std::max(alignment, sizeof(void*)), bytes);
}

// Not inlined, so that free() saves no registers for small allocations.
[[gnu::noinline]] void free_ours(void* memory) {
    const int error = errno;
    process_heap.arena().release(memory);
    errno = error;
}

void* fail(int error) {
    errno = error;
    return nullptr;
}

}  // namespace
}  // namespace tutti::heap

using namespace tutti::heap;

TUTTI_EXPORTED void* malloc(std::size_t bytes) {
    if (void* const memory = allocate(bytes, Content::any)) return memory;
    return next::malloc(bytes);
}

TUTTI_EXPORTED void* calloc(std::size_t count, std::size_t bytes) {
    std::size_t all = 0;
    if (__builtin_mul_overflow(count, bytes, &all)) return fail(ENOMEM);
    if (void* const memory = allocate(all, Content::zero)) return memory;
    return next::calloc(count, bytes);
}

TUTTI_EXPORTED void free(void* memory) {
    if (is_ours(memory)) return free_ours(memory);
    next::free(memory);
}

TUTTI_EXPORTED void* realloc(void* memory, std::size_t bytes) {
    if (memory == nullptr) return malloc(bytes);
    if (!is_ours(memory)) {
        void* const moved = allocate(bytes, Content::any);
        if (moved == nullptr) return next::realloc(memory, bytes);
        std::memcpy(moved, memory, std::min(bytes, next::usable_bytes(memory)));
        next::free(memory);
        return moved;
    }
    if (bytes == 0) {  // like the C library
        free(memory);
        return nullptr;
    }
    if (process_heap.arena().resize(memory, bytes)) return memory;
    void* const moved = malloc(bytes);
    if (moved == nullptr) return nullptr;
    std::memcpy(moved, memory, std::min(bytes, malloc_usable_size(memory)));
    free(memory);
    return moved;
}

TUTTI_EXPORTED void* reallocarray(void* memory, std::size_t count, std::size_t bytes) {
    std::size_t all = 0;
    if (__builtin_mul_overflow(count, bytes, &all)) return fail(ENOMEM);
    return realloc(memory, all);
}

TUTTI_EXPORTED int posix_memalign(void** memory, std::size_t alignment, std::size_t bytes) {
    if (!std::has_single_bit(alignment) || alignment % sizeof(void*) != 0) return EINVAL;
    const int error = errno;
    void* const got = allocate_aligned(alignment, bytes);
    const int problem = got == nullptr ? errno : 0;
    errno = error;
    if (got != nullptr) *memory = got;
    return problem;
}

TUTTI_EXPORTED void* aligned_alloc(std::size_t alignment, std::size_t bytes) {
    if (!std::has_single_bit(alignment)) return fail(EINVAL);
    return allocate_aligned(alignment, bytes);
}

// Rounds the alignment up to a power of two, as the C library does.
TUTTI_EXPORTED void* memalign(std::size_t alignment, std::size_t bytes) {
    if (alignment > SIZE_MAX / 2 + 1) return fail(EINVAL);
    return allocate_aligned(std::bit_ceil(alignment), bytes);
}

TUTTI_EXPORTED void* valloc(std::size_t bytes) { return allocate_aligned(page_bytes(), bytes); }

TUTTI_EXPORTED void* pvalloc(std::size_t bytes) {
    const std::size_t unit = page_bytes();
    if (bytes > SIZE_MAX - unit) return fail(ENOMEM);
    return allocate_aligned(unit, (bytes + unit - 1) / unit * unit);
}

TUTTI_EXPORTED std::size_t malloc_usable_size(void* memory) {
    if (memory == nullptr) return 0;
    return is_ours(memory) ? process_heap.arena().usable_bytes(memory) : next::usable_bytes(memory);
}

TUTTI_EXPORTED void* tutti_heap_allocate(std::size_t alignment, std::size_t bytes) {
    return process_heap.allocate_any(bytes, alignment);
}

TUTTI_EXPORTED void tutti_heap_release(void* memory) {
    if (memory != nullptr) process_heap.arena().release(memory);
}

TUTTI_EXPORTED int tutti_heap_locate(const void* address, std::size_t bytes,
                                     tutti_heap_place* place) {
    return process_heap.arena().locate(address, bytes, *place) ? 1 : 0;
}

TUTTI_EXPORTED const std::uint64_t* tutti_heap_changes(void) {
    return process_heap.arena().changes();
}
