// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "results/statistics/statistics.hpp"

namespace tutti {

TEST(Median, IsTheMiddleOrTheMeanOfTwo) {
    EXPECT_EQ(median({7}), 7);
    EXPECT_EQ(median({3, 100, 1}), 3);
    EXPECT_EQ(median({4, 1, 2, 100}), 3);
}

// Neighbours go up by 21 and down by 19 in turn; two places apart they go up by 2.
TEST(TheilSen, IsOfAllPairsNotOfNeighbours) {
    std::vector<double> x, y;
    for (int i = 0; i < 6; ++i) {
        x.push_back(i);
        y.push_back(i + (i % 2 == 0 ? 10 : -10));
    }
    EXPECT_DOUBLE_EQ(theil_sen_slope(x, y), 1);
}

TEST(TheilSen, IsTheSlopeOfALine) {
    const std::vector<double> x{0, 1, 5, 9}, y{2, 5, 17, 29};
    EXPECT_DOUBLE_EQ(theil_sen_slope(x, y), 3);
}

// Two of nine points are 22 %.
TEST(TheilSen, IgnoresAFewWrongPoints) {
    std::vector<double> x, y;
    for (int i = 0; i < 9; ++i) {
        x.push_back(i);
        y.push_back(10 + 2 * i);
    }
    y[3] = 1e6;
    y[8] = -1e6;
    EXPECT_DOUBLE_EQ(theil_sen_slope(x, y), 2);
}

TEST(TheilSen, OfNoPairIsZero) {
    const std::vector<double> none, same{4, 4}, y{1, 2};
    EXPECT_EQ(theil_sen_slope(none, none), 0);
    EXPECT_EQ(theil_sen_slope(same, y), 0);
}

}  // namespace tutti
