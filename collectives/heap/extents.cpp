// SPDX-License-Identifier: Apache-2.0
#include "collectives/heap/extents.hpp"

#include <algorithm>
#include <bit>

namespace tutti::heap {
namespace {

// Returns the first list at or after `from` that is not empty; `count` if there is none.
int next_filled(const std::uint64_t* filled, int from, int count) {
    for (int word = from / 64; word < count / 64; ++word) {
        std::uint64_t bits = filled[word];
        if (word == from / 64) bits &= ~std::uint64_t{0} << (from % 64);
        if (bits != 0) return 64 * word + std::countr_zero(bits);
    }
    return count;
}

}  // namespace

void Extents::start(Tag* table, std::uint64_t first_number) {
    table_ = table;
    first_number_ = first_number;
    for (Lists* lists : {&dirty_, &zero_}) std::fill_n(lists->head, classes, none);
}

int Extents::class_of(Page pages) {
    const int log = std::bit_width(pages) - 1;
    const auto quarter = static_cast<int>((std::uint64_t{pages} << 2 >> log) & 3);
    return 4 * log + quarter;
}

void Extents::mark(Page first, Page pages, Kind kind) {
    for (Page tagged : {first, first + pages - 1}) {
        table_[tagged].pages = pages;
        table_[tagged].kind = kind;
    }
}

void Extents::insert(Page first, Page pages, Kind kind) {
    if (pages == 0) return;
    mark(first, pages, kind);
    if (kind == Kind::dirty) dirty_pages_ += pages;
    Lists& lists = lists_of(kind);
    const int list = class_of(pages);
    table_[first].previous = none;
    table_[first].next = lists.head[list];
    if (lists.head[list] != none) table_[lists.head[list]].previous = first;
    lists.head[list] = first;
    lists.filled[list / 64] |= std::uint64_t{1} << (list % 64);
}

void Extents::remove(Page first) {
    const Tag& tag = table_[first];
    if (tag.kind == Kind::dirty) dirty_pages_ -= tag.pages;
    Lists& lists = lists_of(tag.kind);
    const int list = class_of(tag.pages);
    if (tag.next != none) table_[tag.next].previous = tag.previous;
    if (tag.previous != none)
        table_[tag.previous].next = tag.next;
    else
        lists.head[list] = tag.next;
    if (lists.head[list] == none) lists.filled[list / 64] &= ~(std::uint64_t{1} << (list % 64));
}

void Extents::grow(Page pages) {
    const Page first = end_;
    end_ += pages;
    mark(first, pages, Kind::used);
    release(first, Kind::zero);
}

std::uint64_t Extents::aligned_first(Page first, std::uint64_t alignment) const {
    const std::uint64_t number = first_number_ + first;
    return first + (-number & (alignment - 1));
}

std::uint64_t Extents::missing_at_end(std::uint64_t pages, std::uint64_t alignment) const {
    const bool ends_free = end_ > 0 && table_[end_ - 1].kind == Kind::zero;
    const Page first = ends_free ? end_ - table_[end_ - 1].pages : end_;
    const std::uint64_t needed_end = aligned_first(first, alignment) + pages;
    return std::max<std::uint64_t>(needed_end, end_ + std::uint64_t{1}) - end_;
}

std::optional<Page> Extents::find(const Lists& lists, std::uint64_t pages,
                                  std::uint64_t alignment) const {
    if (pages == 0 || pages > end_) return std::nullopt;
    for (int list = next_filled(lists.filled, class_of(static_cast<Page>(pages)), classes);
         list < classes; list = next_filled(lists.filled, list + 1, classes)) {
        // Extents of a list may be too small or badly aligned. Try only some of them.
        int tries = 16;
        for (Page first = lists.head[list]; first != none && tries > 0;
             first = table_[first].next, --tries)
            if (aligned_first(first, alignment) + pages <=
                std::uint64_t{first} + table_[first].pages)
                return first;
    }
    return std::nullopt;
}

std::optional<Extent> Extents::take(std::uint64_t pages, std::uint64_t alignment) {
    for (const Kind kind : {Kind::dirty, Kind::zero}) {
        const auto found = find(lists_of(kind), pages, alignment);
        if (!found) continue;
        const Page begin = *found, end = begin + table_[begin].pages;
        const auto first = static_cast<Page>(aligned_first(begin, alignment));
        const Extent taken{first, static_cast<Page>(pages), kind};
        remove(begin);
        insert(begin, first - begin, kind);
        insert(first + taken.pages, end - first - taken.pages, kind);
        mark(first, taken.pages, Kind::used);
        return taken;
    }
    return std::nullopt;
}

std::optional<Extent> Extents::take_large_dirty() {
    for (int list = classes - 1; list >= 0; --list) {
        const Page first = dirty_.head[list];
        if (first == none) continue;
        const Extent taken{first, table_[first].pages, Kind::dirty};
        remove(first);
        mark(first, taken.pages, Kind::used);
        return taken;
    }
    return std::nullopt;
}

void Extents::release(Page first, Kind becomes) {
    Page end = first + table_[first].pages;
    if (end < end_ && table_[end].kind == becomes) {
        const Page next = end;
        end += table_[next].pages;
        remove(next);
    }
    if (first > 0 && table_[first - 1].kind == becomes) {
        first -= table_[first - 1].pages;
        remove(first);
    }
    insert(first, end - first, becomes);
}

Extents::Room Extents::room_after(Page first) const {
    const Page begin = first + table_[first].pages;
    Page end = begin;
    while (end < end_ && table_[end].kind != Kind::used) end += table_[end].pages;
    return {end - begin, end == end_};
}

bool Extents::resize(Page first, std::uint64_t pages) {
    const Page had = table_[first].pages;
    if (pages < had) {
        const auto kept = static_cast<Page>(pages);
        mark(first, kept, Kind::used);
        mark(first + kept, had - kept, Kind::used);
        release(first + kept, Kind::dirty);
        return true;
    }
    std::uint64_t missing = pages - had;
    if (room_after(first).pages < missing) return false;
    for (Page next = first + had; missing > 0;) {
        const Extent after{next, table_[next].pages, table_[next].kind};
        const auto used = static_cast<Page>(std::min<std::uint64_t>(missing, after.pages));
        remove(next);
        insert(next + used, after.pages - used, after.kind);
        missing -= used;
        next += used;
    }
    mark(first, static_cast<Page>(pages), Kind::used);
    return true;
}

}  // namespace tutti::heap
