// SPDX-License-Identifier: Apache-2.0
#include "library/heap/next_calls.hpp"

#include <dlfcn.h>

#include <cstdarg>

#include "library/heap/system_calls.hpp"

namespace tutti::heap::next {
namespace {

void* pointer(long result) { return reinterpret_cast<void*>(result); }

void* bare_mmap(void* address, std::size_t bytes, int protection, int flags, int file,
                off_t offset) {
    return pointer(syscall(SYS_mmap, address, bytes, protection, flags, file, offset));
}

int bare_munmap(void* address, std::size_t bytes) {
    return static_cast<int>(syscall(SYS_munmap, address, bytes));
}

void* bare_mremap(void* address, std::size_t bytes, std::size_t new_bytes, int flags, ...) {
    va_list more;
    va_start(more, flags);
    void* const to = va_arg(more, void*);
    va_end(more);
    return pointer(syscall(SYS_mremap, address, bytes, new_bytes, flags, to));
}

int bare_madvise(void* address, std::size_t bytes, int advice) {
    return static_cast<int>(syscall(SYS_madvise, address, bytes, advice));
}

int bare_mprotect(void* address, std::size_t bytes, int protection) {
    return static_cast<int>(syscall(SYS_mprotect, address, bytes, protection));
}

int bare_pkey_mprotect(void* address, std::size_t bytes, int protection, int key) {
    return static_cast<int>(syscall(SYS_pkey_mprotect, address, bytes, protection, key));
}

int bare_remap_file_pages(void* address, std::size_t bytes, int protection, std::size_t page,
                          int flags) {
    return static_cast<int>(syscall(SYS_remap_file_pages, address, bytes, protection, page, flags));
}

void* bare_shmat(int segment, const void* address, int flags) {
    return pointer(syscall(SYS_shmat, segment, address, flags));
}

int bare_shmdt(const void* address) { return static_cast<int>(syscall(SYS_shmdt, address)); }

template <class Function>
void find(Function& function, const char* name) {
    if (auto* const found = reinterpret_cast<Function>(dlsym(RTLD_NEXT, name))) function = found;
}

}  // namespace

constinit Calls calls{bare_mmap,     bare_munmap,        bare_mremap,           bare_madvise,
                      bare_mprotect, bare_pkey_mprotect, bare_remap_file_pages, bare_shmat,
                      bare_shmdt};

void find_calls() {
    find(calls.mmap, "mmap");
    find(calls.munmap, "munmap");
    find(calls.mremap, "mremap");
    find(calls.madvise, "madvise");
    find(calls.mprotect, "mprotect");
    find(calls.pkey_mprotect, "pkey_mprotect");
    find(calls.remap_file_pages, "remap_file_pages");
    find(calls.shmat, "shmat");
    find(calls.shmdt, "shmdt");
}

}  // namespace tutti::heap::next
