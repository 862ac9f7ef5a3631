// SPDX-License-Identifier: Apache-2.0
// Compares the heap's bookkeeping with a plain list of pages.
#include "collectives/heap/extents.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <vector>

namespace tutti::heap {
namespace {

constexpr Page range = 5000;

// Extents with a list of the kinds of all pages, from which all results can be derived.
class NotedExtents {
public:
    static constexpr std::uint64_t first_number = 1003;  // an unaligned start

    NotedExtents() { extents.start(table_.data(), first_number); }

    void grow(Page pages) {
        extents.grow(pages);
        kind_.insert(kind_.end(), pages, Kind::zero);
    }
    std::optional<Extent> take(std::uint64_t pages, std::uint64_t alignment) {
        const auto taken = extents.take(pages, alignment);
        if (taken) {
            EXPECT_EQ(taken->pages, pages);
            EXPECT_EQ((first_number + taken->first) % alignment, 0u);
            become_used(*taken, taken->kind);
        }
        return taken;
    }
    void take_large_dirty() {
        if (const auto taken = extents.take_large_dirty()) become_used(*taken, Kind::dirty);
    }
    void release(Page first, Kind becomes) {
        extents.release(first, becomes);
        std::fill_n(&kind_.at(first), used.at(first), becomes);
        used.erase(first);
    }
    void resize(Page first, Page pages) {
        const Page had = used.at(first);
        const auto room = std::find(kind_.begin() + first + had, kind_.end(), Kind::used) -
                          (kind_.begin() + first + had);
        EXPECT_EQ(extents.room_after(first).pages, static_cast<std::uint64_t>(room));
        const bool fits = pages <= had + room;
        EXPECT_EQ(extents.resize(first, pages), fits);
        if (!fits) return;
        std::fill_n(&kind_.at(first), had, Kind::dirty);
        std::fill_n(&kind_.at(first), pages, Kind::used);
        used[first] = pages;
    }

    // Returns the longest run of free pages of one kind.
    Page longest_row() const {
        Page longest = 0, row = 0;
        for (std::size_t page = 0; page < kind_.size(); ++page) {
            row = page > 0 && kind_[page] == kind_[page - 1] ? row + 1 : 1;
            if (kind_[page] != Kind::used) longest = std::max(longest, row);
        }
        return longest;
    }

    void check() const {
        std::map<Page, Page> found;
        extents.for_each_used([&](Page first, Page pages) { found[first] = pages; });
        EXPECT_EQ(found, used);
        EXPECT_EQ(extents.dirty_pages(),
                  static_cast<std::uint64_t>(std::count(kind_.begin(), kind_.end(), Kind::dirty)));
    }

    Extents extents;
    std::map<Page, Page> used;  // first page and number of pages

private:
    void become_used(const Extent& taken, Kind was) {
        for (Page page = taken.first; page < taken.first + taken.pages; ++page) {
            EXPECT_EQ(kind_.at(page), was);
            kind_[page] = Kind::used;
        }
        used[taken.first] = taken.pages;
    }

    std::vector<Extents::Tag> table_ = std::vector<Extents::Tag>(range);
    std::vector<Kind> kind_;
};

TEST(Extents, AgreeWithAListOfPages) {
    for (unsigned seed = 0; seed < 30; ++seed) {
        SCOPED_TRACE(seed);
        std::mt19937 random(seed);
        const auto below = [&](unsigned bound) { return static_cast<Page>(random() % bound); };
        NotedExtents noted;
        noted.grow(1 + below(100));
        const auto any_used = [&] {
            return std::next(noted.used.begin(), below(static_cast<unsigned>(noted.used.size())))
                ->first;
        };
        for (int i = 0; i < 1500; ++i) {
            const Page pages = 1 + below(1u << below(8));
            const unsigned choice = below(10);
            if (choice < 4) {
                const std::uint64_t alignment = std::uint64_t{1} << below(6);
                const Page longest = noted.longest_row();
                // An extent of twice this size is in a list where every extent fits.
                if (!noted.take(pages, alignment)) {
                    EXPECT_LT(longest, 2 * (pages + alignment));
                    const auto missing = noted.extents.missing_at_end(pages, alignment);
                    EXPECT_LE(missing, pages + alignment - 1);
                    if (noted.extents.pages() + missing > range) continue;
                    noted.grow(static_cast<Page>(missing));
                    EXPECT_TRUE(noted.take(pages, alignment));
                }
            } else if (choice < 7 && !noted.used.empty()) {
                noted.release(any_used(), below(4) == 0 ? Kind::zero : Kind::dirty);
            } else if (choice < 8 && !noted.used.empty()) {
                noted.resize(any_used(), pages);
            } else if (choice < 9) {
                noted.take_large_dirty();
            } else if (noted.extents.pages() + pages <= range) {
                noted.grow(pages);
            }
            noted.check();
            ASSERT_FALSE(::testing::Test::HasFailure()) << "after " << i;
        }
    }
}

TEST(Extents, FreedNeighboursAreOneAgain) {
    std::vector<Extents::Tag> table(range);
    for (const bool forwards : {true, false}) {
        Extents extents;
        extents.start(table.data(), 0);
        extents.grow(range);
        std::vector<Page> firsts;
        while (const auto taken = extents.take(7, 1)) firsts.push_back(taken->first);
        EXPECT_EQ(firsts.size(), range / 7);
        if (!forwards) std::reverse(firsts.begin(), firsts.end());
        for (const Page first : firsts) extents.release(first, Kind::zero);
        EXPECT_TRUE(extents.take(range, 1));
    }
}

TEST(Extents, PagesInMemoryAreTakenFirst) {
    std::vector<Extents::Tag> table(range);
    Extents extents;
    extents.start(table.data(), 0);
    extents.grow(range);
    const Page first = extents.take(10, 1)->first;
    extents.take(1, 1);
    extents.release(first, Kind::dirty);
    const auto again = extents.take(10, 1);
    EXPECT_EQ(again->first, first);
    EXPECT_EQ(again->kind, Kind::dirty);
    EXPECT_EQ(extents.take(10, 1)->kind, Kind::zero);
}

TEST(Extents, GrowIntoSeveralFreeOnesThatFollow) {
    std::vector<Extents::Tag> table(range);
    Extents extents;
    extents.start(table.data(), 0);
    extents.grow(100);
    const Page first = extents.take(10, 1)->first;  // then 20 dirty pages, then 70 that are zero
    const Page behind = extents.take(20, 1)->first;
    extents.release(behind, Kind::dirty);
    EXPECT_EQ(extents.room_after(first).pages, 90u);
    EXPECT_TRUE(extents.room_after(first).reaches_end);
    EXPECT_FALSE(extents.resize(first, 101));
    EXPECT_TRUE(extents.resize(first, 50));
    EXPECT_EQ(extents.dirty_pages(), 0u);
    EXPECT_TRUE(extents.resize(first, 100));
    EXPECT_EQ(extents.take(1, 1), std::nullopt);
}

}  // namespace
}  // namespace tutti::heap
