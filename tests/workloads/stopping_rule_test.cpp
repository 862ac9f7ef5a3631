// SPDX-License-Identifier: Apache-2.0
// When a series ends, on arrays of numbers.
#include "workloads/timing/stopping_rule.hpp"

#include <gtest/gtest.h>

namespace tutti {
namespace {

// Adds the samples one by one until the rule has finished; how many that took, or all.
std::size_t samples_until_finished(StoppingRule& rule, std::span<const std::int64_t> series) {
    for (const std::int64_t sample : series) {
        if (rule.finished()) break;
        rule.add(std::span(&sample, 1));
    }
    return rule.samples().size();
}

std::vector<std::int64_t> alternating(std::size_t n, std::int64_t low, std::int64_t high) {
    std::vector<std::int64_t> series;
    for (std::size_t i = 0; i < n; ++i) series.push_back(i % 2 == 0 ? low : high);
    return series;
}

TEST(StoppingRule, EndsASteadySeriesAtTheMinimum) {
    for (const std::int64_t least : {6, 20, 33}) {
        StoppingRule rule({.min_samples = least});
        const std::vector<std::int64_t> steady(100, 1'000);  // the interval has no width
        EXPECT_EQ(samples_until_finished(rule, steady), static_cast<std::size_t>(least));
        EXPECT_EQ(rule.reason(), "target_ci");
    }
}

TEST(StoppingRule, NeverEndsForItsIntervalBelowTheMinimum) {
    StoppingRule rule({.min_samples = 20});
    rule.add(std::vector<std::int64_t>(19, 1'000));
    EXPECT_FALSE(rule.finished());
    EXPECT_EQ(rule.reason(), "");
    rule.add(std::vector<std::int64_t>{1'000});
    EXPECT_TRUE(rule.finished());
}

// With alternating 100 and 300 the median is 200 and its interval is [100, 300]: half of it is 0.5
// of the median, for any number of samples.
TEST(StoppingRule, TakesTheMaximumOfANoisySeries) {
    StoppingRule rule({.target_ci = 0.49, .max_seconds = 1e9, .max_samples = 64});
    EXPECT_EQ(samples_until_finished(rule, alternating(200, 100, 300)), 64U);
    EXPECT_EQ(rule.reason(), "max_n");
}

TEST(StoppingRule, EndsANoisySeriesOnceTheTargetIsWideEnough) {
    StoppingRule rule({.target_ci = 0.5, .max_seconds = 1e9, .max_samples = 64});
    EXPECT_EQ(samples_until_finished(rule, alternating(200, 100, 300)), 20U);
    EXPECT_EQ(rule.reason(), "target_ci");
}

// It looks at n = 20, 25, 31, 38. 20 noisy samples, then steady ones: sorted, ten times 100, n - 20
// times 200, ten times 300. The interval reaches from place floor((n - 1.96 sqrt(n)) / 2) to
// ceil(1 + (n + 1.96 sqrt(n)) / 2), counted from 1, as neighbours do not resemble each other: for
// 31 from 10 (100) to 22 (300), for 38 from 12 to 27, and places 11 to 28 are 200.
TEST(StoppingRule, LooksAgainAfterEachQuarterMore) {
    std::vector<std::int64_t> series = alternating(20, 100, 300);
    series.resize(200, 200);
    StoppingRule rule({.max_seconds = 1e9});
    EXPECT_EQ(samples_until_finished(rule, series), 38U);
    EXPECT_EQ(rule.reason(), "target_ci");
}

TEST(StoppingRule, EndsWhenItsSecondsAreSpent) {
    StoppingRule rule({.max_seconds = 0.5});
    const std::int64_t one[] = {100};
    rule.add(one, 0, 0.25);
    rule.add(one, 0, 0.25);
    EXPECT_FALSE(rule.finished());  // not more than the budget
    rule.add({}, 0, 0.125);
    EXPECT_TRUE(rule.finished());
    EXPECT_EQ(rule.reason(), "max_time");
    EXPECT_EQ(rule.samples().size(), 2U);
}

// 4 * 20 + 100 calls for the 20 that it wants at least.
TEST(StoppingRule, EndsWhenNearlyAllCallsAreInvalid) {
    StoppingRule rule;
    rule.add({}, 180);
    EXPECT_FALSE(rule.finished());
    rule.add({}, 1);
    EXPECT_EQ(rule.reason(), "max_time");
    EXPECT_EQ(rule.attempts(), 181);
    EXPECT_EQ(rule.invalid(), 181);
}

TEST(StoppingRule, TakesAFixedNumberWhateverTheyAreAndCost) {
    for (const std::int64_t fixed : {1, 2, 7, 150}) {
        StoppingRule rule({.fixed_samples = fixed});
        rule.add({}, 0, 1e9);
        EXPECT_FALSE(rule.finished());
        EXPECT_FALSE(rule.is_complete());
        const std::vector<std::int64_t> steady(200, 5);
        EXPECT_EQ(samples_until_finished(rule, steady), static_cast<std::size_t>(fixed));
        EXPECT_EQ(rule.reason(), "fixed_n");
        EXPECT_TRUE(rule.is_complete());
    }
}

TEST(StoppingRule, GivesAFixedNumberUpAfterTooManyInvalidCalls) {
    StoppingRule rule({.fixed_samples = 10});
    rule.add({}, 140);
    EXPECT_FALSE(rule.is_complete());
    rule.add({}, 1);
    EXPECT_EQ(rule.reason(), "fixed_n");
    EXPECT_TRUE(rule.is_complete());
}

TEST(StoppingRule, HoldsReservedSamplesBackUntilItHasFinished) {
    StoppingRule rule({.fixed_samples = 10, .reserved = 1});
    EXPECT_EQ(rule.wanted(), 9);
    rule.add(std::vector<std::int64_t>(9, 5));
    EXPECT_TRUE(rule.finished());
    EXPECT_FALSE(rule.is_complete());
    EXPECT_EQ(rule.wanted(), 1);
    rule.add(std::vector<std::int64_t>{5});
    EXPECT_TRUE(rule.is_complete());
    EXPECT_EQ(rule.wanted(), 1);  // at least
}

TEST(StoppingRule, StaysFinishedForTheReasonThatCameFirst) {
    StoppingRule rule({.max_samples = 30});
    rule.add(std::vector<std::int64_t>(20, 5));
    ASSERT_EQ(rule.reason(), "target_ci");
    rule.add(alternating(20, 1, 1'000), 0, 1e9);
    EXPECT_EQ(rule.reason(), "target_ci");
    EXPECT_EQ(rule.samples().size(), 40U);
}

}  // namespace
}  // namespace tutti
