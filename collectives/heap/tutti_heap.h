/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TUTTI_HEAP_H
#define TUTTI_HEAP_H
#include <stddef.h>
#include <stdint.h>
#ifdef __cplusplus
extern "C" {
#endif

/** Describes memory of this process's heap: its place in a file that other processes of the host can map. */
struct tutti_heap_place {
    int64_t process;      /**< the file is /proc/PROCESS/fd/DESCRIPTOR */
    int64_t descriptor;   /**< valid until the program closes it */
    uint64_t device;      /**< device and inode from fstat(): a peer compares them to check that it */
    uint64_t inode;       /**< has opened the right file */
    uint64_t offset;      /**< offset of the address in the file */
    uint64_t bytes;       /**< the requested number of bytes; they end within the file */
    uint64_t arena_bytes; /**< current size of the file: it grows, and cannot shrink (F_SEAL_SHRINK) */
    uint64_t arena_most;  /**< greatest size of the file: map this many bytes at once */
};

/**
 * Fills in `place` and returns 1 if peers can map all `bytes` from `address` on; else returns 0. It also returns 0 if the
 * program has mapped something over a part of this memory, has unmapped it or has protected it. Takes a few ns.
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
 * Allocates `bytes` bytes that peers can map, whatever the threshold is. `alignment` is a power of two. Returns NULL if
 * the heap is off or full. Meant for programs that load the library by dlopen(), where malloc() is not replaced.
 */
void* tutti_heap_allocate(size_t alignment, size_t bytes);
typedef void* tutti_heap_allocate_function(size_t, size_t);

/** Frees memory from tutti_heap_allocate(). Does nothing for NULL. */
void tutti_heap_release(void* memory);
typedef void tutti_heap_release_function(void*);

#ifdef __cplusplus
}
#endif
#endif
