// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <sys/types.h>

#include <cstddef>

/// The functions that this library interposes, as the next library in load order has them: the C
/// library, or another preloaded library.
namespace tutti::heap::next {

// The allocator. It may be called at any time.
void* malloc(std::size_t bytes);
void* calloc(std::size_t count, std::size_t bytes);
void* realloc(void* memory, std::size_t bytes);
void free(void* memory);
void* aligned(std::size_t alignment, std::size_t bytes);  ///< null with errno set if it fails
std::size_t usable_bytes(void* memory);

/// The functions that map memory. UCX and Open MPI replace the code of the C library's functions,
/// and may allocate in these calls. So hold no lock of the heap that allocating needs.
struct Calls {
    void* (*mmap)(void*, std::size_t, int, int, int, off_t);
    int (*munmap)(void*, std::size_t);
    void* (*mremap)(void*, std::size_t, std::size_t, int, ...);
    int (*madvise)(void*, std::size_t, int);
    int (*mprotect)(void*, std::size_t, int);
    int (*pkey_mprotect)(void*, std::size_t, int, int);
    int (*remap_file_pages)(void*, std::size_t, int, std::size_t, int);
    void* (*shmat)(int, const void*, int);
    int (*shmdt)(const void*);
};

/// Holds direct system calls until find_calls() is called, and for functions that the C library
/// lacks.
extern Calls calls;
void find_calls();

}  // namespace tutti::heap::next
