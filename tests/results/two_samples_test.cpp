// SPDX-License-Identifier: Apache-2.0
#include "results/stored/two_samples.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

namespace tutti {
namespace {

using Values = std::vector<double>;

double p_value(const Values& a, const Values& b) { return shift_between(a, b, 0.98).p; }

// By trying all ways of drawing b from the ten (nine) values.
TEST(TwoSamples, HaveTheExactPValueOfMannAndWhitney) {
    EXPECT_NEAR(p_value({1, 2, 3, 4, 5}, {6, 7, 8, 9, 10}), 2. / 252, 1e-12);
    EXPECT_NEAR(p_value({1, 2, 3, 4}, {2.5, 5, 6, 7, 8}), 8. / 126, 1e-12);
    EXPECT_EQ(p_value({1, 2}, {1, 2}), 1);
}

TEST(TwoSamples, CountTiesAsTheyAre) {
    EXPECT_NEAR(p_value({1, 2, 2, 3, 3}, {3, 3, 4, 5, 5}), 12. / 252, 1e-12);
    EXPECT_NEAR(p_value({1, 1, 2, 2, 2, 7}, {2, 2, 3, 3}), 74. / 210, 1e-12);
    EXPECT_EQ(p_value(Values(8, 1), Values(8, 1)), 1);
}

// Tables of the two-sided test: the critical U of 5 and 5 values at 2 % is 1, of 6 and 6 it is 3,
// of 10 and 10 it is 19. U + 1 differences are outside of the interval.
TEST(TwoSamples, HaveTheIntervalThatTheTablesGive) {
    const Values a{10, 11, 12, 13, 14, 15}, b{20.5, 21.1, 22.3, 23.2, 24.6, 25.4};
    const Shift shift = shift_between(a, b, 0.98);
    EXPECT_NEAR(shift.estimate, 10.35, 1e-9);
    EXPECT_NEAR(shift.low, 7.1, 1e-9);
    EXPECT_NEAR(shift.high, 13.6, 1e-9);
    Values ten, hundred;
    for (int i = 0; i < 10; ++i) {
        ten.push_back(i);
        hundred.push_back(100 * i);
    }
    Values differences;
    for (const double x : ten)
        for (const double y : hundred) differences.push_back(y - x);
    std::sort(differences.begin(), differences.end());
    EXPECT_EQ(shift_between(ten, hundred, 0.98).low, differences[19]);
}

TEST(TwoSamples, OfFewValuesHaveNoInterval) {
    EXPECT_TRUE(std::isinf(shift_between(Values{1}, Values{2}, 0.98).low));
    EXPECT_TRUE(std::isinf(shift_between(Values{1, 2, 3, 4}, Values{5, 6, 7, 8}, 0.98).low));
    EXPECT_FALSE(std::isinf(shift_between(Values{1, 2, 3, 4, 5}, Values{5, 6, 7, 8, 9}, 0.98).low));
    EXPECT_EQ(shift_between(Values{}, Values{1}, 0.98).n, 0U);
}

// 2 / (2n over n): 1/3, 1/10, 1/35, 1/126 of 2 to 5.
TEST(TwoSamples, SayHowManyValuesALevelNeeds) {
    EXPECT_EQ(least_of_each(0.02), 5);
    EXPECT_EQ(least_of_each(0.03), 4);
    EXPECT_EQ(least_of_each(0.02 / 10), 7);
    EXPECT_EQ(least_of_each(1), 1);
}

// Beyond 50 values in all.
TEST(TwoSamples, GoOnWithTheNormalLimit) {
    std::mt19937 random(1);
    std::normal_distribution<double> noise;
    const auto values = [&](int n, double centre) {
        Values made;
        for (int i = 0; i < n; ++i) made.push_back(centre + noise(random));
        return made;
    };
    int excluded = 0;
    for (int i = 0; i < 400; ++i) {
        const Shift shift = shift_between(values(26, 0), values(30, 0), 0.9);
        const bool excludes = shift.low > 0 || shift.high < 0;
        EXPECT_EQ(excludes, shift.p <= 0.1) << shift.p;
        excluded += excludes ? 1 : 0;
    }
    EXPECT_GT(excluded, 20);  // 40 but for chance, whose deviation is 6
    EXPECT_LT(excluded, 60);
    const Values many = values(60, 0), ties(60, 0.25);
    EXPECT_LT(shift_between(many, values(60, 3), 0.98).p, 1e-6);
    EXPECT_EQ(shift_between(ties, ties, 0.98).p, 1);
}

}  // namespace
}  // namespace tutti
