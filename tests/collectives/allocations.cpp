// SPDX-License-Identifier: Apache-2.0

#include "allocations.hpp"

#include <malloc.h>

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <new>

#include "base/rounding.hpp"

namespace {

// Counts per thread, so that other ranks do not matter.
thread_local bool counting = false;
thread_local long allocations = 0, live_bytes = 0, most_live_bytes = 0;

void* allocate(std::size_t bytes, std::size_t alignment) {
    // aligned_alloc requires whole multiples of the alignment.
    void* memory = alignment <= alignof(std::max_align_t)
                       ? std::malloc(bytes)
                       : std::aligned_alloc(alignment, tutti::round_up(bytes, alignment));
    if (memory == nullptr) throw std::bad_alloc();
    if (counting) {
        ++allocations;
        live_bytes += static_cast<long>(malloc_usable_size(memory));
        most_live_bytes = std::max(most_live_bytes, live_bytes);
    }
    return memory;
}

void release(void* memory) {
    if (counting) live_bytes -= static_cast<long>(malloc_usable_size(memory));
    std::free(memory);
}

}  // namespace

// All other forms (arrays, sized) call these; sanitizers have their own nothrow forms.
void* operator new(std::size_t bytes) { return allocate(bytes, alignof(std::max_align_t)); }
void* operator new(std::size_t bytes, std::align_val_t alignment) {
    return allocate(bytes, static_cast<std::size_t>(alignment));
}
void* operator new(std::size_t bytes, const std::nothrow_t&) noexcept {
    try {
        return operator new(bytes);
    } catch (const std::bad_alloc&) {
        return nullptr;
    }
}
void* operator new(std::size_t bytes, std::align_val_t alignment, const std::nothrow_t&) noexcept {
    try {
        return operator new(bytes, alignment);
    } catch (const std::bad_alloc&) {
        return nullptr;
    }
}
void operator delete(void* memory) noexcept { release(memory); }
void operator delete(void* memory, std::size_t) noexcept { release(memory); }
void operator delete(void* memory, std::align_val_t) noexcept { release(memory); }
void operator delete(void* memory, std::size_t, std::align_val_t) noexcept { release(memory); }

namespace tutti::test {

AllocationCount::AllocationCount() {
    allocations = live_bytes = most_live_bytes = 0;
    counting = true;
}

AllocationCount::~AllocationCount() { counting = false; }

long AllocationCount::so_far() const { return allocations; }
long AllocationCount::most_bytes() const { return most_live_bytes; }

}  // namespace tutti::test
