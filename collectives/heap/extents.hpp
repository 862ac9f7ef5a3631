// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>

namespace tutti::heap {

using Page = std::uint32_t;  ///< index of a page in the range; also a number of pages

/// The state of an extent. Free extents are listed by kind, so that calloc need not clear memory
/// that is zero already.
enum class Kind : std::uint32_t { used, dirty, zero };

/// Consecutive pages that are allocated or free together.
struct Extent {
    Page first = 0;
    Page pages = 0;
    Kind kind = Kind::used;
};

/// Records which pages of a range are used. It never accesses the pages themselves. Extents cover
/// the range without gaps. The first and last page of an extent have its tag (boundary tags), so a
/// freed extent finds and joins free neighbours of its kind. Free extents are listed by kind and
/// size.
class Extents {
public:
    /// The table's entry for a page. Only those of the first and last page of an extent are valid.
    struct Tag {
        Page pages;
        Kind kind;
        Page next, previous;  // in the list of its size, if free
    };

    static constexpr Page most_pages = ~Page{0};  ///< greatest size of a range

    constexpr Extents() = default;
    /// Call once. `table` has a tag for each page that the range can ever have. `first_number` is
    /// the address of its first page divided by the page size, for alignments.
    void start(Tag* table, std::uint64_t first_number);

    /// Adds pages that hold zeroes at the end.
    void grow(Page pages);
    /// Returns how many pages grow() must add so that take() succeeds. At least one: take() may
    /// have skipped the last extent in a long list.
    std::uint64_t missing_at_end(std::uint64_t pages, std::uint64_t alignment) const;

    /// Takes a free extent. Prefers extents whose pages are in memory already (dirty). The number
    /// of its first page is a multiple of `alignment`, a power of two. It keeps its kind.
    std::optional<Extent> take(std::uint64_t pages, std::uint64_t alignment);

    /// Takes one of the largest dirty extents.
    std::optional<Extent> take_large_dirty();

    /// Frees the used extent that begins at `first`.
    void release(Page first, Kind becomes);

    /// Resizes the used extent that begins at `first`; it can grow into free pages right after it.
    /// Returns false, with nothing changed, if too few are free there.
    bool resize(Page first, std::uint64_t pages);

    Page pages_of(Page first) const { return table_[first].pages; }
    /// The free pages right after a used extent, and whether they end the range.
    struct Room {
        std::uint64_t pages;
        bool reaches_end;
    };
    Room room_after(Page first) const;
    Page pages() const { return end_; }
    /// May be called while another thread changes the extents.
    std::uint64_t dirty_pages() const { return dirty_pages_.load(std::memory_order_relaxed); }

    template <class Function>
    void for_each_used(Function&& function) const {
        for (Page first = 0; first < end_; first += table_[first].pages)
            if (table_[first].kind == Kind::used) function(first, table_[first].pages);
    }

private:
    static constexpr Page none = most_pages;  // no page has this number
    // Each power of two is split into four size classes.
    static constexpr int classes = 4 * 32;

    struct Lists {
        Page head[classes] = {};
        std::uint64_t filled[classes / 64] = {};  // a bit for each list that is not empty
    };

    static int class_of(Page pages);
    Lists& lists_of(Kind kind) { return kind == Kind::dirty ? dirty_ : zero_; }
    std::uint64_t aligned_first(Page first, std::uint64_t alignment) const;
    std::optional<Page> find(const Lists& lists, std::uint64_t pages,
                             std::uint64_t alignment) const;
    void mark(Page first, Page pages, Kind kind);
    void insert(Page first, Page pages, Kind kind);
    void remove(Page first);

    Tag* table_ = nullptr;
    std::uint64_t first_number_ = 0;
    Page end_ = 0;
    std::atomic<std::uint64_t> dirty_pages_ = 0;
    Lists dirty_, zero_;
};

}  // namespace tutti::heap
