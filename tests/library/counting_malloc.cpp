// SPDX-License-Identifier: Apache-2.0
// An allocator to preload after the heap. At the end it prints the number of calls and the largest
// size.
#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdio>

extern "C" void* __libc_malloc(std::size_t bytes);

namespace {

std::atomic<std::size_t> calls = 0, largest = 0;

__attribute__((destructor)) void report() {
    std::fprintf(stderr, "%zu calls, at most %zu bytes\n", calls.load(), largest.load());
}

}  // namespace

extern "C" void* malloc(std::size_t bytes) {
    ++calls;
    largest = std::max(largest.load(), bytes);
    return __libc_malloc(bytes);
}
