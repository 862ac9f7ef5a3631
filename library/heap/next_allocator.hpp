// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>

/// The allocator that this one stands before: the C library's, or another one that was preloaded.
namespace tutti::heap::next {

void* malloc(std::size_t bytes);
void* calloc(std::size_t count, std::size_t bytes);
void* realloc(void* memory, std::size_t bytes);
void free(void* memory);
void* aligned(std::size_t alignment, std::size_t bytes);  ///< null with errno set if it fails
std::size_t usable_bytes(void* memory);

}  // namespace tutti::heap::next
