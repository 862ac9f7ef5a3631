/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TUTTI_HEAP_H
#define TUTTI_HEAP_H
#include <stddef.h>
#include <stdint.h>
#ifdef __cplusplus
extern "C" {
#endif

/** Where memory of this process's heap lies in a file that other processes of the host can map. */
struct tutti_heap_place {
    int64_t process;      /**< /proc/PROCESS/fd/DESCRIPTOR is the file, */
    int64_t descriptor;   /**< as long as the program has not closed it */
    uint64_t device;      /**< by these two, which fstat() tells, a peer sees that it opened the right one */
    uint64_t inode;       /**< */
    uint64_t offset;      /**< of the address in the file */
    uint64_t bytes;       /**< that were asked for; they end within the file */
    uint64_t arena_bytes; /**< the file's size now: it grows, and cannot shrink (F_SEAL_SHRINK) */
    uint64_t arena_most;  /**< what it may grow to: map as much at once */
};

/**
 * Fills in `place` and returns 1 if peers can map all `bytes` from `address` on; else returns 0. It returns 0, too, if the
 * program has mapped something over a part of this memory, has unmapped it or has protected it. Costs a few ns.
 * A library need not link it: dlsym(RTLD_DEFAULT, "tutti_heap_locate") finds it, or returns NULL if libtutti_heap.so is
 * neither preloaded nor linked.
 */
int tutti_heap_locate(const void* address, size_t bytes, struct tutti_heap_place* place);
typedef int tutti_heap_locate_function(const void*, size_t, struct tutti_heap_place*);

/**
 * Returns the address of a counter. It grows whenever tutti_heap_locate() may answer differently for allocated memory:
 * the program has mapped over such memory (mmap, munmap, mremap, shmat), protected it (mprotect), or freed what it had
 * changed so. Read the counter atomically.
 */
const uint64_t* tutti_heap_changes(void);
typedef const uint64_t* tutti_heap_changes_function(void);

/**
 * So many bytes that peers can map, however few and whatever the threshold; `alignment` is a power of two. NULL if the
 * heap is off or has no room. For who has loaded the library by dlopen(), where malloc() stays another allocator's.
 */
void* tutti_heap_allocate(size_t alignment, size_t bytes);
typedef void* tutti_heap_allocate_function(size_t, size_t);

/** Frees what tutti_heap_allocate returned, or nothing if that is NULL. */
void tutti_heap_release(void* memory);
typedef void tutti_heap_release_function(void*);

#ifdef __cplusplus
}
#endif
#endif
