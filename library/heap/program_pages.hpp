// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <sys/mman.h>

#include <atomic>
#include <cstdint>

#include "library/heap/extents.hpp"

namespace tutti::heap {

/// State of a page inside an allocation: who maps memory there, and with which protection.
using PageState = std::uint8_t;
constexpr PageState own = 0;       ///< the heap's memory, readable and writable
constexpr PageState replaced = 1;  ///< the program has mapped other memory there
constexpr PageState unmapped = 2;  ///< the program has unmapped it; the addresses stay reserved
constexpr PageState attached = 3;  ///< like `replaced`, by shmat or mremap: shmdt may unmap it
/// The program left a gap, and other memory may have come to lie there before the heap reserved it.
/// The heap never maps its own there again, unless the program unmaps it.
constexpr PageState lost = 4;
/// The heap's memory, with a protection (PROT_READ, ...) that the program has set.
constexpr PageState protected_as(int protection) {
    return static_cast<PageState>(64 | (protection & 7));
}
/// The heap's memory with guards (MADV_GUARD_INSTALL), whatever protection it has besides.
constexpr PageState guarded = protected_as(PROT_READ | PROT_WRITE) | 8;
/// The heap's memory, after guards were removed or a change of the protection failed: it is not
/// known what the program may do with it. A forked child may read and write it.
constexpr PageState uncertain = protected_as(PROT_READ | PROT_WRITE) | 16;
constexpr bool is_protected(PageState state) { return (state & 64) != 0; }
constexpr int protection_of(PageState state) { return state & 7; }
/// Whether the page shows memory of the heap.
constexpr bool is_of_heap(PageState state) { return state == own || is_protected(state); }
/// Whether the program has other memory there, or may have it.
constexpr bool is_of_program(PageState state) { return !is_of_heap(state) && state != unmapped; }

/// Pages in a row.
struct Pages {
    Page first = 0;
    Page count = 0;
};

/// Records which pages of allocations the program has mapped over, unmapped or protected.
/// It never reads the pages themselves. A thread may look up a page without a lock if no other
/// thread changes that page at the same time.
class ProgramPages {
public:
    constexpr ProgramPages() = default;
    /// Call once. `table` has a zero for each page that the heap can ever have.
    void start(PageState* table) { table_ = table; }

    /// True while all pages are `own`, as in most programs.
    bool is_empty() const { return count_.load(std::memory_order_acquire) == 0; }
    bool all_are(Pages pages, PageState state) const;
    bool all_are_own(Pages pages) const { return is_empty() || all_are(pages, own); }
    PageState at(Page page) const { return table_[page]; }
    void set(Pages pages, PageState state);

    /// Grows whenever the state of a page changes.
    const std::uint64_t* changes() const { return &changes_; }

    /// Calls function(pages, state) for each row of pages of one state. It may set() that row.
    template <class Function>
    void for_each_row(Pages pages, Function&& function) const {
        if (pages.count == 0) return;
        if (is_empty()) return function(pages, own);
        const std::uint64_t end = std::uint64_t{pages.first} + pages.count;
        for (std::uint64_t first = pages.first; first < end;) {
            const PageState state = table_[first];
            std::uint64_t next = first + 1;
            while (next < end && table_[next] == state) ++next;
            function(Pages{static_cast<Page>(first), static_cast<Page>(next - first)}, state);
            first = next;
        }
    }

private:
    PageState* table_ = nullptr;
    std::atomic<std::uint64_t> count_ = 0;  // of pages that are not `own`
    std::uint64_t changes_ = 0;
};

}  // namespace tutti::heap
