// SPDX-License-Identifier: Apache-2.0
#include "collectives/heap/arena_heap.hpp"

#include <algorithm>
#include <cstring>
#include <mutex>

#include "collectives/heap/system_calls.hpp"

namespace tutti::heap {

bool ArenaHeap::start(const Settings& settings) {
    page_bytes_ = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
    const std::size_t most = std::min(settings.reserve, Extents::most_pages * page_bytes_);
    if (!file_.open(most, settings.after_fork)) return false;
    const std::size_t most_pages = file_.most() / page_bytes_;
    std::byte* const table = private_pages(most_pages * sizeof(Extents::Tag));
    if (table == nullptr) return false;
    std::byte* const states = private_pages(most_pages * sizeof(PageState));
    if (states == nullptr) return false;
    program_pages_.start(reinterpret_cast<PageState*>(states));
    extents_.start(reinterpret_cast<Extents::Tag*>(table),
                   reinterpret_cast<std::uintptr_t>(file_.begin()) / page_bytes_);
    retained_pages_ = settings.retain / page_bytes_;
    after_fork_ = settings.after_fork;
    return true;
}

Page ArenaHeap::page_of(const void* memory) const {
    const auto offset = static_cast<const std::byte*>(memory) - file_.begin();
    return static_cast<Page>(static_cast<std::size_t>(offset) / page_bytes_);
}

std::uint64_t ArenaHeap::pages_for(std::size_t bytes) const {
    return std::max<std::uint64_t>(1, bytes / page_bytes_ + (bytes % page_bytes_ != 0));
}

bool ArenaHeap::grow(std::uint64_t pages) {
    const std::size_t had = file_.bytes();
    if (pages > file_.most() / page_bytes_ || !file_.grow(pages * page_bytes_)) return false;
    extents_.grow(static_cast<Page>((file_.bytes() - had) / page_bytes_));
    return true;
}

std::optional<Extent> ArenaHeap::take(std::size_t bytes, std::size_t alignment) {
    const std::uint64_t pages = pages_for(bytes);
    const std::uint64_t alignment_pages = std::max<std::uint64_t>(1, alignment / page_bytes_);
    const std::lock_guard lock(mutex_);
    if (is_abandoned_) return std::nullopt;
    if (const auto found = extents_.take(pages, alignment_pages)) return found;
    if (!grow(extents_.missing_at_end(pages, alignment_pages))) return std::nullopt;
    return extents_.take(pages, alignment_pages);
}

void* ArenaHeap::allocate(std::size_t bytes, std::size_t alignment, Content content) {
    if (bytes > file_.most() || alignment > file_.most()) return nullptr;
    auto taken = take(bytes, alignment);
    if (!taken) {  // dirty and zero pages next to each other are not joined yet
        give_back(0);
        taken = take(bytes, alignment);
    }
    if (!taken) return nullptr;
    std::byte* const memory = address_of(taken->first);
    if (content == Content::zero && taken->kind == Kind::dirty) std::memset(memory, 0, bytes);
    return memory;
}

void ArenaHeap::release(void* memory) {
    const Page first = page_of(memory);
    // Pages that cannot be restored are never used again.
    if (!program_pages_.is_empty() && !restore({first, pages_of(first)})) return;
    {
        const std::lock_guard lock(mutex_);
        if (is_abandoned_) return;
        extents_.release(first, Kind::dirty);
    }
    give_back(retained_pages_);
}

bool ArenaHeap::resize(void* memory, std::size_t bytes) {
    const Page first = page_of(memory);
    const std::uint64_t pages = pages_for(bytes);
    if (!program_pages_.is_empty()) {
        const Page had = pages_of(first);
        if (pages < had &&
            !restore({static_cast<Page>(first + pages), static_cast<Page>(had - pages)}))
            return true;  // it keeps its size
    }
    {
        const std::lock_guard lock(mutex_);
        if (is_abandoned_) return false;
        const std::uint64_t had = extents_.pages_of(first);
        if (pages > had) {
            const auto room = extents_.room_after(first);
            const std::uint64_t missing = pages - had;
            if (room.pages < missing && !(room.reaches_end && grow(missing - room.pages)))
                return false;
        }
        extents_.resize(first, pages);
    }
    give_back(retained_pages_);
    return true;
}

std::size_t ArenaHeap::usable_bytes(const void* memory) const {
    return pages_of(page_of(memory)) * page_bytes_;
}

Page ArenaHeap::pages_of(Page first) const {
    const std::lock_guard lock(mutex_);
    return extents_.pages_of(first);
}

void ArenaHeap::give_back(std::uint64_t pages_to_keep) {
    if (extents_.dirty_pages() <= pages_to_keep || is_forking_) return;
    if (!giving_back_.try_lock()) return;  // another thread is giving memory back
    bool goes_on = true;
    while (goes_on && !is_forking_) {
        Extent extent;
        {
            const std::lock_guard lock(mutex_);
            if (extents_.dirty_pages() <= pages_to_keep) break;
            extent = *extents_.take_large_dirty();
        }
        goes_on = file_.discard(address_of(extent.first), extent.pages * page_bytes_);
        const std::lock_guard lock(mutex_);
        extents_.release(extent.first, goes_on ? Kind::zero : Kind::dirty);
    }
    giving_back_.unlock();
}

std::byte* ArenaHeap::copy_of_used() const {
    if (file_.bytes() == 0) return nullptr;
    std::byte* const copy = private_pages(file_.bytes());
    if (copy == nullptr) return nullptr;
    extents_.for_each_used([&](Page first, Page count) {
        program_pages_.for_each_row({first, count}, [&](Pages pages, PageState state) {
            if (state == own)
                file_.copy_out(pages.first * page_bytes_, pages.count * page_bytes_, copy);
            else if (is_protected(state))
                file_.copy_protected(pages.first * page_bytes_, pages.count * page_bytes_, copy);
        });
    });
    return copy;
}

// Gives the child private memory. It keeps what the program has mapped over the heap's memory.
bool ArenaHeap::become_private() {
    file_.let_go();
    bool done = file_.bytes() == 0 || copy_ != nullptr;
    program_pages_.for_each_row({0, extents_.pages()}, [&](Pages pages, PageState state) {
        const std::size_t from = pages.first * page_bytes_, bytes = pages.count * page_bytes_;
        if (!done) return;
        if (!is_of_heap(state))
            unmap_pages(copy_ + from, bytes);
        else
            done = file_.put_copy(from, bytes, copy_) &&
                   (state == own ||
                    protect_pages(address_of(pages.first), bytes, protection_of(state)));
        if (state == guarded) advise(address_of(pages.first), bytes, MADV_GUARD_INSTALL);
    });
    return done;
}

void ArenaHeap::before_fork() {
    is_forking_ = true;
    giving_back_.lock();
    program_calls_.lock();
    mutex_.lock();
    if (file_.is_shared() && after_fork_ == AfterFork::copy) copy_ = copy_of_used();
}

void ArenaHeap::after_fork_in_parent() {
    if (copy_ != nullptr) unmap_pages(copy_, file_.bytes());
    program_calls_.unlock();
    unlock_after_fork();
}

void ArenaHeap::after_fork_in_child() {
    program_calls_.renew();
    if (file_.is_shared() && !become_private()) {
        if (after_fork_ == AfterFork::copy)
            say("not enough memory to copy the heap for a forked child: it can only execute "
                "another "
                "program");
        file_.abandon();
        is_abandoned_ = true;
    }
    unlock_after_fork();
}

void ArenaHeap::unlock_after_fork() {
    copy_ = nullptr;
    mutex_.unlock();
    giving_back_.unlock();
    is_forking_ = false;
}

}  // namespace tutti::heap
