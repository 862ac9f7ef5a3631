// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>

namespace tutti::heap {

using Page = std::uint32_t;  ///< counted from the begin of the range; also a number of pages

/// What the pages of an extent hold. Free ones are kept apart by it, so that memory that is known
/// to be zero need not be written to be so.
enum class Kind : std::uint32_t { used, dirty, zero };

/// Pages in a row that are used or free as one.
struct Extent {
    Page first = 0;
    Page pages = 0;
    Kind kind = Kind::used;
};

/// Which pages of a range are used: bookkeeping alone, which never looks at the pages themselves.
/// The range is cut into extents without gaps. An extent's first and last page have its tag
/// (boundary tags), by which a freed one finds and joins free neighbours of its kind; free ones are
/// listed by kind and size.
class Extents {
public:
    /// What the table holds for each page; only that of an extent's first and last page means
    /// anything.
    struct Tag {
        Page pages;
        Kind kind;
        Page next, previous;  // in the list of its size, if free
    };

    static constexpr Page most_pages = ~Page{0};  ///< that a range may have

    constexpr Extents() = default;
    /// Once: `table` has a tag for each page that the range may come to have. `first_number` is the
    /// number of its first page among all of the address space, for alignments.
    void start(Tag* table, std::uint64_t first_number);

    /// Pages that hold zeroes, behind the last one.
    void grow(Page pages);
    /// How many more of them take() needs to find this there; at least one, which is enough where
    /// it has overlooked the last extent among others.
    std::uint64_t missing_at_end(std::uint64_t pages, std::uint64_t alignment) const;

    /// Takes a free extent, first from those whose pages are in memory already (dirty). The number
    /// of its first page is a multiple of `alignment`, a power of two. Its kind is what it was.
    std::optional<Extent> take(std::uint64_t pages, std::uint64_t alignment);

    /// One of the largest dirty extents, used from now on.
    std::optional<Extent> take_large_dirty();

    /// Frees the used extent that begins here.
    void release(Page first, Kind becomes);

    /// Makes the used extent that begins here shorter, or longer by free pages right behind it.
    /// False, with nothing changed, if too few are free there.
    bool resize(Page first, std::uint64_t pages);

    Page pages_of(Page first) const { return table_[first].pages; }
    /// Free pages right behind the used extent that begins here, and whether they end the range.
    struct Room {
        std::uint64_t pages;
        bool reaches_end;
    };
    Room room_behind(Page first) const;
    Page pages() const { return end_; }
    /// May also be asked while another thread changes something.
    std::uint64_t dirty_pages() const { return dirty_pages_.load(std::memory_order_relaxed); }

    template <class Function>
    void for_each_used(Function&& function) const {
        for (Page first = 0; first < end_; first += table_[first].pages)
            if (table_[first].kind == Kind::used) function(first, table_[first].pages);
    }

private:
    static constexpr Page none = most_pages;  // no page has this number
    // Four classes of sizes between a power of two and the next.
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
