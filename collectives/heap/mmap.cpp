// SPDX-License-Identifier: Apache-2.0
// Interposes the functions by which programs map memory. The heap records calls on its own memory,
// because peers map that memory, too. All other calls go to the C library at once.
//
// The functions are exported with the C library's symbol version, but not as the default version.
// So programs that were linked with the C library call them, and dlsym() finds those of the C
// library. This matters for Open MPI: it overwrites the code of the function that dlsym() finds
// with a jump to its own, and a function of the heap would never be called again.
#include <sys/mman.h>

#include <cstdarg>

#include "collectives/heap/next_functions.hpp"
#include "collectives/heap/process_heap.hpp"

// TUTTI_WATCHED(result, name, version)(parameters) defines watched_name and exports it as `name`.
#define TUTTI_EXPORTED_C extern "C" __attribute__((visibility("default")))
#if !defined(TUTTI_LIBC_VERSION)
#define TUTTI_WATCHED(result, name, version)                     \
    __asm__(".globl " #name "\n.set " #name ", watched_" #name); \
    TUTTI_EXPORTED_C result watched_##name
#elif defined(__clang__)
#define TUTTI_WATCHED(result, name, version)                  \
    __asm__(".symver watched_" #name ", " #name "@" version); \
    TUTTI_EXPORTED_C result watched_##name
#else
#define TUTTI_WATCHED(result, name, version) \
    TUTTI_EXPORTED_C __attribute__((symver(#name "@" version))) result watched_##name
#endif

using namespace tutti::heap;

namespace {

ArenaHeap& arena() { return process_heap.arena(); }

}  // namespace

TUTTI_WATCHED(void*, mmap, TUTTI_LIBC_VERSION)
(void* address, std::size_t bytes, int protection, int flags, int file, off_t offset) {
    if (!arena().holds(address))
        return next::calls.mmap(address, bytes, protection, flags, file, offset);
    return arena().map(address, bytes, protection, flags, file, offset);
}

TUTTI_WATCHED(void*, mmap64, TUTTI_LIBC_VERSION)
(void* address, std::size_t bytes, int protection, int flags, int file, off_t offset) {
    return watched_mmap(address, bytes, protection, flags, file, offset);
}

TUTTI_WATCHED(int, munmap, TUTTI_LIBC_VERSION)(void* address, std::size_t bytes) {
    if (!arena().holds(address)) return next::calls.munmap(address, bytes);
    return arena().unmap(address, bytes);
}

TUTTI_WATCHED(void*, mremap, TUTTI_LIBC_VERSION)
(void* address, std::size_t bytes, std::size_t new_bytes, int flags, ...) {
    va_list more;
    va_start(more, flags);
    void* const to = va_arg(more, void*);  // undefined without MREMAP_FIXED
    va_end(more);
    const bool is_placed = (flags & MREMAP_FIXED) != 0;
    if (!arena().holds(address) && !(is_placed && arena().holds(to)))
        return next::calls.mremap(address, bytes, new_bytes, flags, to);
    return arena().move(address, bytes, new_bytes, flags, to);
}

TUTTI_WATCHED(int, madvise, TUTTI_LIBC_VERSION)(void* address, std::size_t bytes, int advice) {
    if (!arena().holds(address)) return next::calls.madvise(address, bytes, advice);
    return arena().give_advice(address, bytes, advice);
}

TUTTI_WATCHED(int, mprotect, TUTTI_LIBC_VERSION)
(void* address, std::size_t bytes, int protection) {
    if (!arena().holds(address)) return next::calls.mprotect(address, bytes, protection);
    return arena().protect(address, bytes, protection);
}

TUTTI_WATCHED(int, pkey_mprotect, "GLIBC_2.27")
(void* address, std::size_t bytes, int protection, int key) {
    if (!arena().holds(address)) return next::calls.pkey_mprotect(address, bytes, protection, key);
    return arena().protect(address, bytes, protection, key);
}

TUTTI_WATCHED(int, remap_file_pages, TUTTI_REMAP_VERSION)
(void* address, std::size_t bytes, int protection, std::size_t page, int flags) {
    if (!arena().holds(address))
        return next::calls.remap_file_pages(address, bytes, protection, page, flags);
    return arena().remap(address, bytes, protection, page, flags);
}

TUTTI_WATCHED(void*, shmat, TUTTI_LIBC_VERSION)
(int segment, const void* address, int flags) {
    if (!arena().holds(address)) return next::calls.shmat(segment, address, flags);
    return arena().attach(segment, address, flags);
}

TUTTI_WATCHED(int, shmdt, TUTTI_LIBC_VERSION)(const void* address) {
    if (!arena().holds(address)) return next::calls.shmdt(address);
    return arena().detach(address);
}
