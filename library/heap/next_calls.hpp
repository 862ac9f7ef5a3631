// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <sys/types.h>

#include <cstddef>

/// The functions that those of mmap.cpp interpose: the C library's, or another library's that
/// interposes them, too. UCX and Open MPI replace the code of the C library's functions, and may
/// allocate in these calls. So hold no lock of the heap that allocating needs.
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

/// Holds direct system calls until find_calls() is called, and for functions that the C library
/// lacks.
extern Calls calls;
void find_calls();

}  // namespace tutti::heap::next
