// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <sys/types.h>

#include <cstddef>

/// The functions that the ones of mmap.cpp stand before: the C library's, or those of a library
/// that watches them as well (UCX and Open MPI replace the code of the C library's). These
/// libraries may allocate then, so no lock of the heap may be held that allocating needs.
namespace tutti::heap::next {

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

/// System calls as such until find_calls() was called, and where the C library has no such
/// function.
extern Calls calls;
void find_calls();

}  // namespace tutti::heap::next
