// SPDX-License-Identifier: Apache-2.0
#include "results/statistics/signed_rank.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>

#include "base/index.hpp"

namespace tutti {
namespace {

std::vector<double> random_differences(std::size_t n, unsigned seed, double centre = 0) {
    std::mt19937 random(seed);
    std::normal_distribution<double> noise(centre, 1);
    std::vector<double> values(n);
    for (double& value : values) value = noise(random);
    return values;
}

// Over all signs that the differences could have had, by trying them.
double p_by_enumeration(const std::vector<double>& differences) {
    const std::size_t n = differences.size();
    std::vector<double> ranks(n);
    for (std::size_t i = 0; i < n; ++i) {
        double below = 0, equal = 0;
        for (const double other : differences) {
            below += std::abs(other) < std::abs(differences[i]) ? 1 : 0;
            equal += std::abs(other) == std::abs(differences[i]) ? 1 : 0;
        }
        ranks[i] = below + (equal + 1) / 2;
    }
    const double all = std::accumulate(ranks.begin(), ranks.end(), 0.);
    const auto distance = [&](double positive) { return std::abs(positive - all / 2); };
    double seen = 0;
    for (std::size_t i = 0; i < n; ++i) seen += differences[i] > 0 ? ranks[i] : 0;
    int as_far = 0;
    for (unsigned signs = 0; signs < 1U << n; ++signs) {
        double positive = 0;
        for (std::size_t i = 0; i < n; ++i) positive += (signs >> i & 1U) != 0 ? ranks[i] : 0;
        as_far += distance(positive) >= distance(seen) - 1e-9 ? 1 : 0;
    }
    return static_cast<double>(as_far) / static_cast<double>(1U << n);
}

TEST(SignedRank, PIsTheShareOfAllSignsThatAreAsFarOff) {
    for (std::size_t n = 1; n <= 12; ++n)
        for (unsigned seed = 0; seed < 10; ++seed) {
            const auto differences = random_differences(n, seed, 0.5);
            EXPECT_NEAR(shift_of(differences, 0.98).p, p_by_enumeration(differences), 1e-12)
                << n << " values, seed " << seed;
        }
}

TEST(SignedRank, EqualDifferencesShareTheirRanks) {
    const std::vector<double> differences{1, 1, -1, 2, 2, -3, 1, 4};
    EXPECT_NEAR(shift_of(differences, 0.98).p, p_by_enumeration(differences), 1e-12);
}

TEST(SignedRank, NoDifferenceAtAllIsNoEvidence) {
    const Shift shift = shift_of(std::vector<double>(20, 0.), 0.98);
    EXPECT_EQ(shift.p, 1);
    EXPECT_EQ(shift.estimate, 0);
    EXPECT_EQ(shift.low, 0);
    EXPECT_EQ(shift.high, 0);
    EXPECT_EQ(shift_of({}, 0.98).n, 0U);
}

// The estimates of 1, 2, 4: means of pairs 1, 1.5, 2, 2.5, 3, 4.
TEST(SignedRank, TheEstimateIsTheMedianOfTheMeansOfPairs) {
    EXPECT_EQ(shift_of(std::vector<double>{4, 1, 2}, 0.98).estimate, 2.25);
    EXPECT_EQ(shift_of(std::vector<double>{7}, 0.98).estimate, 7);
}

TEST(SignedRank, TheIntervalHoldsTheCentresThatTheTestDoesNotReject) {
    constexpr double confidence = 0.95;
    for (const std::size_t n : {6, 9, 14, 25})
        for (unsigned seed = 0; seed < 5; ++seed) {
            const auto differences = random_differences(n, seed, 3);
            const Shift shift = shift_of(differences, confidence);
            for (double centre = 0; centre < 6; centre += 0.0137) {
                std::vector<double> moved = differences;
                for (double& value : moved) value -= centre;
                const bool is_rejected = shift_of(moved, confidence).p <= 1 - confidence;
                EXPECT_EQ(is_rejected, centre < shift.low || centre > shift.high)
                    << n << " values, seed " << seed << ", centre " << centre;
            }
        }
}

TEST(SignedRank, TooFewForTheConfidenceHaveNoInterval) {
    EXPECT_TRUE(std::isinf(shift_of(random_differences(6, 1), 0.98).high));
    EXPECT_FALSE(std::isinf(shift_of(random_differences(7, 1), 0.98).high));
    EXPECT_TRUE(std::isinf(shift_of(random_differences(5, 1), 0.95).low));
    EXPECT_FALSE(std::isinf(shift_of(random_differences(6, 1), 0.95).low));
}

// The exact distribution of 299 differences is compared with the normal one of 301.
TEST(SignedRank, ManyDifferencesAreJudgedAsFewAre) {
    for (const double centre : {0., 0.1, 0.2}) {
        const auto p_of = [&](std::size_t n) {
            std::vector<double> evenly;
            for (std::size_t i = 0; i < n; ++i)
                evenly.push_back((static_cast<double>(i) + 0.5) / static_cast<double>(n) - 0.5 +
                                 centre / std::sqrt(static_cast<double>(n)));
            return shift_of(evenly, 0.98);
        };
        const Shift exact = p_of(299), normal = p_of(301);
        EXPECT_NEAR(normal.p / exact.p, 1, 0.03);
        EXPECT_NEAR((normal.high - normal.low) / (exact.high - exact.low), std::sqrt(299. / 301),
                    0.005);
    }
    const Shift largest = shift_of(random_differences(3'000, 5), 0.98);
    EXPECT_LT(largest.low, largest.estimate);
    EXPECT_LT(largest.estimate, largest.high);
}

// The worked example of many textbooks, and the rule that a larger p never ends below a smaller.
TEST(Holm, MultipliesByWhatIsLeftAndKeepsTheOrder) {
    const auto adjusted = adjusted_by_holm(std::vector<double>{0.01, 0.04, 0.03, 0.005});
    const std::vector<double> expected{0.03, 0.06, 0.06, 0.02};
    ASSERT_EQ(adjusted.size(), expected.size());
    for (std::size_t i = 0; i < expected.size(); ++i) EXPECT_NEAR(adjusted[i], expected[i], 1e-12);
    EXPECT_EQ(adjusted_by_holm(std::vector<double>{0.7, 0.8}), (std::vector<double>{1, 1}));
    EXPECT_TRUE(adjusted_by_holm({}).empty());
}

}  // namespace
}  // namespace tutti
