// SPDX-License-Identifier: Apache-2.0
// Direct system calls. Hooks of other libraries on the C library's functions might allocate while
// the heap is locked, and some of these functions are cancellation points.
#pragma once
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstddef>

// The headers of some C libraries lack these.
#ifndef MADV_GUARD_INSTALL
#define MADV_GUARD_INSTALL 102
#define MADV_GUARD_REMOVE 103
#endif

namespace tutti::heap {

inline std::byte* map_pages(std::byte* where, std::size_t bytes, int protection, int flags,
                            int file = -1, std::size_t offset = 0) {
    const long got = syscall(SYS_mmap, where, bytes, protection, flags, file, offset);
    return got == -1 ? nullptr : reinterpret_cast<std::byte*>(got);
}

/// Maps private zero pages. They take memory when they are written.
inline std::byte* private_pages(std::size_t bytes, std::byte* where = nullptr) {
    return map_pages(
        where, bytes, PROT_READ | PROT_WRITE,
        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | (where == nullptr ? 0 : MAP_FIXED));
}

inline void unmap_pages(std::byte* begin, std::size_t bytes) { syscall(SYS_munmap, begin, bytes); }

inline bool advise(std::byte* begin, std::size_t bytes, int advice) {
    return syscall(SYS_madvise, begin, bytes, advice) == 0;
}

inline bool protect_pages(std::byte* begin, std::size_t bytes, int protection) {
    return syscall(SYS_mprotect, begin, bytes, protection) == 0;
}

inline void close_file(int file) { syscall(SYS_close, file); }

}  // namespace tutti::heap
