// SPDX-License-Identifier: Apache-2.0
#include "base/index.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <span>
#include <type_traits>
#include <vector>

namespace tutti {

TEST(Index, TakesSignedAndUnsignedNumbersAndRanks) {
    const std::vector<int> values{10, 11, 12};
    EXPECT_EQ(at(values, 1), 11);
    EXPECT_EQ(at(values, std::int64_t{2}), 12);
    EXPECT_EQ(at(values, 0u), 10);
    EXPECT_EQ(at(values, Rank{2}), 12);
}

TEST(Index, GivesTheElementItself) {
    std::vector<int> values{10, 11, 12};
    at(values, 1) = 7;
    at(std::span{values}, Rank{2}) = 8;
    EXPECT_EQ(values, (std::vector{10, 7, 8}));
    static_assert(std::is_same_v<decltype(at(values, 0)), int&>);
    static_assert(std::is_same_v<decltype(at(std::as_const(values), 0)), const int&>);
}

TEST(Index, IsAConstantExpression) {
    constexpr std::array squares{0, 1, 4};
    static_assert(at(squares, 2) == 4);
    static_assert(as_size(3) == 3u && as_size(Rank{1}) == 1u);
    static_assert(int_size(squares) == 3);
}

TEST(Index, NeedsNoSizeOfPointers) {
    const int values[] = {5, 6};
    const int* const first = values;
    EXPECT_EQ(at(first, 1), 6);
    EXPECT_EQ(at(values, 1), 6);
}

#ifndef NDEBUG
TEST(IndexDeathTest, RefusesPlacesThatAreNone) {
    const std::vector<int> values{10, 11, 12};
    EXPECT_DEATH(at(values, -1), "");
    EXPECT_DEATH(at(values, 3), "");
    EXPECT_DEATH(at(values, Rank{3}), "");
}
#endif

}  // namespace tutti
