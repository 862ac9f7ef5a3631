// SPDX-License-Identifier: Apache-2.0
#include "base/stretches.hpp"

#include <gtest/gtest.h>

namespace tutti {
namespace {

std::vector<std::vector<int>> lists(std::span<const int> all, int within) {
    std::vector<std::vector<int>> parts;
    for (const auto part :
         stretches(all, [&](int first, int one) { return one - first <= within; }))
        parts.emplace_back(part.begin(), part.end());
    return parts;
}

using Lists = std::vector<std::vector<int>>;

TEST(Stretches, AreCutWhereTheListChanges) {
    EXPECT_EQ(lists(std::vector{1, 1, 2, 3, 3, 3}, 0), (Lists{{1, 1}, {2}, {3, 3, 3}}));
}

TEST(Stretches, AreLikeTheirFirstAndNotLikeTheirLast) {
    EXPECT_EQ(lists(std::vector{1, 2, 3, 4, 5}, 1), (Lists{{1, 2}, {3, 4}, {5}}));
}

TEST(Stretches, OfNothingAreNone) { EXPECT_EQ(lists({}, 0), Lists{}); }

}  // namespace
}  // namespace tutti
