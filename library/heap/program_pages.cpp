// SPDX-License-Identifier: Apache-2.0
#include "library/heap/program_pages.hpp"

#include <algorithm>
#include <cstring>

namespace tutti::heap {

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

}  // namespace tutti::heap
