// SPDX-License-Identifier: Apache-2.0
// Calls with which the program maps over, unmaps, moves, discards or protects memory of the heap.
// Peers still map the pages of the heap's file, which no longer hold the program's data. So
// locate() returns false for such memory until it is freed.
#include <sys/shm.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <mutex>

#include "collectives/heap/arena_heap.hpp"
#include "collectives/heap/next_functions.hpp"
#include "collectives/heap/system_calls.hpp"

// The headers of some C libraries lack these.
#ifndef MADV_DONTNEED_LOCKED
#define MADV_DONTNEED_LOCKED 24
#endif
#ifndef MREMAP_DONTUNMAP
#define MREMAP_DONTUNMAP 4
#endif
#ifndef MAP_FIXED_NOREPLACE
#define MAP_FIXED_NOREPLACE 0x100000
#endif

namespace tutti::heap {
namespace {

constexpr int private_memory = MAP_PRIVATE | MAP_ANONYMOUS;
constexpr int reserved_addresses = private_memory | MAP_NORESERVE;

void* fail(int error) {
    errno = error;
    return MAP_FAILED;
}

}  // namespace

bool ProgramPages::all_are(Pages pages, PageState state) const {
    if (pages.count == 0) return true;
    const PageState* const first = table_ + pages.first;
    return *first == state && std::memcmp(first, first + 1, pages.count - 1) == 0;
}

void ProgramPages::set(Pages pages, PageState state) {
    if (all_are(pages, state)) return;
    PageState* const first = table_ + pages.first;
    const auto owned = static_cast<std::uint64_t>(std::count(first, first + pages.count, own));
    std::memset(first, state, pages.count);
    count_ += owned - (state == own ? pages.count : 0);  // wraps around where fewer are left
    __atomic_fetch_add(&changes_, 1, __ATOMIC_RELEASE);
}

bool ArenaHeap::is_page(const void* address) const {
    return reinterpret_cast<std::uintptr_t>(address) % page_bytes_ == 0;
}

// Wraps around to 0 if the sum overflows.
std::size_t ArenaHeap::in_whole_pages(std::size_t bytes) const {
    return (bytes + page_bytes_ - 1) / page_bytes_ * page_bytes_;
}

// Returns the pages of the range that the file has.
Pages ArenaHeap::pages_in(const void* address, std::size_t bytes) const {
    const Page end = static_cast<Page>(file_.bytes() / page_bytes_);
    if (!holds(address) || bytes == 0 || page_of(address) >= end) return {};
    const Page first = page_of(address);
    const std::size_t before =
        reinterpret_cast<std::uintptr_t>(address) % page_bytes_;  // in the first page
    const std::size_t left = (end - first) * page_bytes_;
    const std::size_t last = bytes < left - before ? before + bytes - 1 : left - 1;
    return {first, static_cast<Page>(last / page_bytes_ + 1)};
}

bool ArenaHeap::is_unmapped(const void* address, std::size_t bytes) const {
    const Pages pages = pages_in(address, bytes);
    return pages.count > 0 && bytes <= pages.count * page_bytes_ &&
           program_pages_.all_are(pages, unmapped);
}

bool ArenaHeap::all_are_of_program(Pages pages) const {
    bool all = true;
    program_pages_.for_each_row(pages,
                                [&](Pages, PageState state) { all = all && is_of_program(state); });
    return all;
}

// Clears the file where pages no longer show it, so that it takes no memory there. Lost pages stay
// lost until they are unmapped: the owner of memory there may map over it.
void ArenaHeap::set_state(Pages pages, PageState state) {
    program_pages_.for_each_row(pages, [&](Pages row, PageState was) {
        if (was == lost && state != unmapped) return;
        if (is_of_heap(was) && !is_of_heap(state))
            file_.clear(row.first * page_bytes_, row.count * page_bytes_);
        program_pages_.set(row, state);
    });
}

// Reserves a gap that the program has left: the heap will map its memory there again. But another
// thread may have mapped memory there since.
void ArenaHeap::reserve_if_free(Pages pages) {
    if (pages.count == 0) return;
    std::byte* const begin = address_of(pages.first);
    const std::size_t bytes = pages.count * page_bytes_;
    std::byte* const got =
        map_pages(begin, bytes, PROT_NONE, reserved_addresses | MAP_FIXED_NOREPLACE);
    program_pages_.set(pages, got == begin ? unmapped : lost);
    if (got != nullptr && got != begin) unmap_pages(got, bytes);  // the system ignores this flag
}

bool ArenaHeap::restore(Pages pages) {
    if (program_pages_.all_are_own(pages)) return true;
    const std::lock_guard lock(program_calls_);
    bool done = true;
    program_pages_.for_each_row(pages, [&](Pages row, PageState state) {
        if (state == own) return;
        if (state != lost && file_.map_again(row.first * page_bytes_, row.count * page_bytes_))
            program_pages_.set(row, own);
        else
            done = false;
    });
    return done;
}

void* ArenaHeap::map(void* address, std::size_t bytes, int protection, int flags, int file,
                     off_t offset) {
    const std::lock_guard lock(program_calls_);
    // The heap keeps these addresses reserved, but the program has unmapped them.
    if (is_page(address) && is_unmapped(address, bytes))
        flags = (flags & ~MAP_FIXED_NOREPLACE) | MAP_FIXED;
    void* const mapped = next::calls.mmap(address, bytes, protection, flags, file, offset);
    if (mapped == address) set_state(pages_in(address, bytes), replaced);
    return mapped;
}

int ArenaHeap::unmap(void* address, std::size_t bytes) {
    const std::lock_guard lock(program_calls_);
    const std::byte* const last = static_cast<std::byte*>(address) + bytes - 1;
    if (!is_page(address) || bytes == 0 || !holds(address) || !holds(last) || last < address)
        return next::calls.munmap(address, bytes);  // reports the error
    if (next::calls.mmap(address, bytes, PROT_NONE, reserved_addresses | MAP_FIXED, -1, 0) ==
        MAP_FAILED)
        return -1;
    set_state(pages_in(address, bytes), unmapped);
    return 0;
}

void* ArenaHeap::move(void* address, std::size_t bytes, std::size_t new_bytes, int flags,
                      void* to) {
    const std::lock_guard lock(program_calls_);
    const Pages pages = pages_in(address, std::max<std::size_t>(bytes, 1));
    const std::size_t kept = in_whole_pages(new_bytes);
    auto* const from = static_cast<std::byte*>(address);
    if (holds(address)) {
        if (pages.count == 0 || !is_of_program(program_pages_.at(pages.first)))
            return move_copy(from, bytes, new_bytes, flags, to);
        if (!all_are_of_program(pages)) return fail(EFAULT);
    }
    void* const moved = next::calls.mremap(address, bytes, new_bytes, flags, to);
    if (moved == MAP_FAILED) return moved;
    if (moved == address) {
        if (kept < bytes) reserve_if_free(pages_in(from + kept, bytes - kept));
    } else if (bytes > 0 && (flags & MREMAP_DONTUNMAP) == 0) {  // else the old pages stay
        reserve_if_free(pages);
    }
    if (holds(moved)) set_state(pages_in(moved, new_bytes), attached);
    return moved;
}

// Moves by copying to private memory: pages of the heap's file must not be mapped elsewhere, where
// the heap does not see when they are unmapped.
void* ArenaHeap::move_copy(std::byte* from, std::size_t bytes, std::size_t new_bytes, int flags,
                           void* to) {
    bytes = in_whole_pages(bytes);
    new_bytes = in_whole_pages(new_bytes);
    if (!is_page(from) || bytes == 0 || new_bytes == 0) return fail(EINVAL);
    const Pages pages = pages_in(from, bytes);
    const PageState state = pages.count == 0 ? unmapped : program_pages_.at(pages.first);
    if (!is_of_heap(state) || pages.count * page_bytes_ != bytes ||
        !program_pages_.all_are(pages, state))
        return fail(EFAULT);
    const bool is_placed = (flags & MREMAP_FIXED) != 0;
    if (!is_placed && (flags & MREMAP_DONTUNMAP) == 0 && new_bytes <= bytes) {
        if (new_bytes < bytes && unmap(from + new_bytes, bytes - new_bytes) != 0) return MAP_FAILED;
        return from;
    }
    if ((flags & MREMAP_MAYMOVE) == 0) return fail(is_placed ? EINVAL : ENOMEM);
    auto* const place = is_placed ? static_cast<std::byte*>(to) : nullptr;
    if (is_placed && (!is_page(place) || (place < from + bytes && from < place + new_bytes)))
        return fail(EINVAL);
    void* const moved = map(place, new_bytes, PROT_READ | PROT_WRITE,
                            private_memory | (is_placed ? MAP_FIXED : 0), -1, 0);
    if (moved == MAP_FAILED) return moved;
    const auto begin = static_cast<std::size_t>(from - file_.begin());
    if (is_protected(state)) {
        advise(from, bytes, MADV_GUARD_REMOVE);
        protect_pages(from, bytes, PROT_READ);
    }
    file_.copy_out(begin, std::min(bytes, new_bytes), static_cast<std::byte*>(moved) - begin);
    if (is_protected(state))
        protect_pages(static_cast<std::byte*>(moved), new_bytes, protection_of(state));
    if (state == guarded)
        advise(static_cast<std::byte*>(moved), std::min(bytes, new_bytes), MADV_GUARD_INSTALL);
    if ((flags & MREMAP_DONTUNMAP) != 0)
        map(from, bytes, PROT_READ | PROT_WRITE, private_memory | MAP_FIXED, -1, 0);
    else
        unmap(from, bytes);
    return moved;
}

int ArenaHeap::give_advice(void* address, std::size_t bytes, int advice) {
    const std::lock_guard lock(program_calls_);
    const Pages pages = pages_in(address, bytes);
    // The system may free such pages later or never, and refuses the advice for a file's pages.
    if (advice == MADV_FREE && file_.is_shared() && pages.count > 0 && is_page(address)) return 0;
    const int result = next::calls.madvise(address, bytes, advice);
    const int error = errno;
    const bool installs = advice == MADV_GUARD_INSTALL, removes = advice == MADV_GUARD_REMOVE;
    const bool discards = advice == MADV_DONTNEED || advice == MADV_DONTNEED_LOCKED || installs;
    if (!removes && !discards) return result;
    program_pages_.for_each_row(pages, [&](Pages row, PageState state) {
        if (!is_of_heap(state)) return;
        if (removes) {
            if (state == guarded) set_state(row, uncertain);
        } else if (result == 0) {
            // The pages of private memory would be zero now, and malloc gives private memory.
            file_.clear(row.first * page_bytes_, row.count * page_bytes_);
            if (installs) set_state(row, guarded);
        } else if (installs && state != guarded && state != uncertain) {
            // The first pages may have guards now, and none had one before.
            advise(address_of(row.first), row.count * page_bytes_, MADV_GUARD_REMOVE);
        }
    });
    errno = error;
    return result;
}

int ArenaHeap::protect(void* address, std::size_t bytes, int protection, int key) {
    const std::lock_guard lock(program_calls_);
    const int result = key == no_key ? next::calls.mprotect(address, bytes, protection)
                                     : next::calls.pkey_mprotect(address, bytes, protection, key);
    if (result != 0 && !is_page(address)) return result;
    const bool is_usual = protection == (PROT_READ | PROT_WRITE) && key <= 0;
    program_pages_.for_each_row(pages_in(address, bytes), [&](Pages row, PageState state) {
        if (!is_of_heap(state) || state == guarded || state == uncertain) return;
        if (result != 0)  // but the first pages may be protected
            set_state(row, uncertain);
        else
            set_state(row, is_usual ? own : protected_as(protection));
    });
    return result;
}

int ArenaHeap::remap(void* address, std::size_t bytes, int protection, std::size_t page,
                     int flags) {
    const std::lock_guard lock(program_calls_);
    const Pages pages = pages_in(address, bytes);
    if (pages.count > 0 && all_are_of_program(pages))
        return next::calls.remap_file_pages(address, bytes, protection, page, flags);
    errno = EINVAL;  // like Linux for private memory
    return -1;
}

void* ArenaHeap::attach(int segment, const void* address, int flags) {
    const std::lock_guard lock(program_calls_);
    shmid_ds is{};
    if (shmctl(segment, IPC_STAT, &is) != 0) return MAP_FAILED;
    if (is_page(address) && is_unmapped(address, is.shm_segsz)) flags |= SHM_REMAP;
    void* const begin = next::calls.shmat(segment, address, flags);
    if (begin != MAP_FAILED) set_state(pages_in(begin, is.shm_segsz), attached);
    return begin;
}

int ArenaHeap::detach(const void* address) {
    const std::lock_guard lock(program_calls_);
    const int result = next::calls.shmdt(address);
    if (result != 0) return result;
    // The length of the segment is not known, and the program may have mapped over some of it, so
    // the gaps are reserved page by page. A segment right after it is lost until it is detached.
    const auto* gap = static_cast<const std::byte*>(address);
    for (Pages page = pages_in(gap, 1); page.count > 0; page = pages_in(gap += page_bytes_, 1)) {
        const PageState state = program_pages_.at(page.first);
        if (is_of_heap(state)) break;
        if (state == attached || state == lost) reserve_if_free(page);
    }
    return result;
}

}  // namespace tutti::heap
