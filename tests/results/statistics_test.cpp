// SPDX-License-Identifier: Apache-2.0
#include "results/statistics/statistics.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <numeric>
#include <random>
#include <vector>

namespace tutti {
namespace {

using Series = std::vector<std::int64_t>;

Series one_to(std::int64_t last) {
    Series series(static_cast<std::size_t>(last));
    std::iota(series.begin(), series.end(), 1);
    return series;
}

}  // namespace

TEST(Summary, OfNoSamplesIsAllZero) { EXPECT_EQ(summarise({}), Summary{}); }

TEST(Summary, OfOneSampleIsThatSample) {
    const Summary summary = summarise(Series{7});
    EXPECT_EQ(summary.n, 1u);
    for (const auto value : {summary.min, summary.p05, summary.p50, summary.p99, summary.max,
                             summary.ci95_lo, summary.ci95_hi})
        EXPECT_EQ(value, 7);
    EXPECT_EQ(summary.sd, 0);
}

TEST(Summary, PercentilesInterpolateBetweenNeighbours) {
    // Place p(n-1): of 1..101 the k-th percentile is k + 1; of 10, 20 the median is half way.
    const Summary hundred = summarise(one_to(101));
    EXPECT_EQ(hundred.min, 1);
    EXPECT_EQ(hundred.p05, 6);
    EXPECT_EQ(hundred.p25, 26);
    EXPECT_EQ(hundred.p50, 51);
    EXPECT_EQ(hundred.p75, 76);
    EXPECT_EQ(hundred.p95, 96);
    EXPECT_EQ(hundred.p99, 100);
    EXPECT_EQ(hundred.max, 101);
    EXPECT_EQ(summarise(Series{20, 10}).p50, 15);
    EXPECT_EQ(summarise(Series{40, 10, 30, 20}).p25, 18);  // 10 + 0.75 * 10 = 17.5, away from 0
}

TEST(Summary, MeanAndDeviationAreThoseOfTheTextbook) {
    const Summary summary = summarise(Series{2, 4, 4, 4, 5, 5, 7, 9});  // squares sum to 32
    EXPECT_DOUBLE_EQ(summary.mean, 5);
    EXPECT_DOUBLE_EQ(summary.sd, std::sqrt(32.0 / 7));
}

TEST(Summary, AutocorrelationDistinguishesTrendsFromAlternation) {
    // 1 2 3 4: deviations -1.5 -0.5 0.5 1.5; products 0.75 - 0.25 + 0.75 = 1.25 of 5.
    EXPECT_DOUBLE_EQ(summarise(Series{1, 2, 3, 4}).rho1, 0.25);
    // 1 3 1 3: products -1 -1 -1 of 4.
    EXPECT_DOUBLE_EQ(summarise(Series{1, 3, 1, 3}).rho1, -0.75);
    EXPECT_EQ(summarise(Series{5, 5, 5}).rho1, 0);
}

TEST(Summary, IntervalOfTheMedianIsTwoOrderStatistics) {
    // Alternating halves of 1..100 keep rho1 below 0, so nothing widens:
    // lo = floor((100 - 19.6) / 2) = 40, hi = ceil(1 + (100 + 19.6) / 2) = 61.
    Series zigzag;
    for (std::int64_t i = 1; i <= 50; ++i) zigzag.insert(zigzag.end(), {i, 101 - i});
    const Summary summary = summarise(zigzag);
    ASSERT_LE(summary.rho1, 0);
    EXPECT_EQ(summary.ci95_lo, 40);
    EXPECT_EQ(summary.ci95_hi, 61);
    EXPECT_DOUBLE_EQ(half_width(summary),
                     21.0 / 102);  // the median of 1..100 is 50.5, stored as 51
}

TEST(Summary, IntervalWidensAtMostThreefoldForSamplesThatResembleEachOther) {
    // 1..100 in order: rho1 is near 1, so lo = floor((100 - 58.8) / 2) = 20, hi = ceil(80.4) = 81.
    const Summary summary = summarise(one_to(100));
    ASSERT_GT(summary.rho1, 0.9);
    EXPECT_EQ(summary.ci95_lo, 20);
    EXPECT_EQ(summary.ci95_hi, 81);
}

TEST(Summary, IntervalOfFewSamplesIsAllOfThem) {
    const Summary summary = summarise(Series{30, 10, 20});
    EXPECT_EQ(summary.ci95_lo, 10);
    EXPECT_EQ(summary.ci95_hi, 30);
}

TEST(Summary, SlowSamplesAreCountedAndKept) {
    Series samples = one_to(9);  // quartiles of 1..9 and 100: 3.25 -> 3, 7.75 -> 8; fence 23
    samples.push_back(100);
    const Summary summary = summarise(samples);
    EXPECT_EQ(summary.n_slow, 1u);
    EXPECT_EQ(summary.max, 100);
    EXPECT_EQ(summary.n, 10u);
    samples.back() = 23;
    EXPECT_EQ(summarise(samples).n_slow, 0u);
    samples.back() = 24;
    EXPECT_EQ(summarise(samples).n_slow, 1u);
}

TEST(Midmean, IsTheMeanOfTheMiddleHalf) {
    EXPECT_EQ(midmean(Series{7}), 7);
    EXPECT_EQ(midmean(Series{1, 2}), 1.5);
    EXPECT_EQ(midmean(Series{9, 1, 1'000}), 9);
    EXPECT_EQ(midmean(Series{1'000, 4, 3, 1}), 3.5);
    EXPECT_EQ(midmean(Series{8, 5, 1, 2, 3, 4, 6, 7}), 4.5);
}

TEST(Midmean, SeesLessThanAStepOfTheClock) {
    // The clock ticks every 10 ns, and the calls differ by up to 20 ns, evenly.
    const auto calls_of = [](int shortest_ns) {
        Series shown;
        for (int ns = shortest_ns; ns < shortest_ns + 20; ++ns)
            for (int begin_ns = 0; begin_ns < 10; ++begin_ns)
                shown.push_back((begin_ns + ns) / 10 * 10);
        return shown;
    };
    EXPECT_EQ(median(calls_of(161)), median(calls_of(164)));
    EXPECT_NEAR(midmean(calls_of(164)) - midmean(calls_of(161)), 3, 0.5);
}

TEST(HalfWidth, OfAMedianOfZeroIsInfiniteUnlessTheIntervalIsAPoint) {
    EXPECT_EQ(half_width(Summary{.ci95_lo = 0, .ci95_hi = 3}),
              std::numeric_limits<double>::infinity());
    EXPECT_EQ(half_width(Summary{}), 0);
}

TEST(HalfWidth, OfFiveSamplesOrFewerIsUnknown) {
    // min and max of n enclose the median unless all lie on one side: 1 - 2^(1-n), 0.9375 for 5.
    for (std::size_t n : {1, 2, 5})
        EXPECT_EQ(half_width(summarise(one_to(static_cast<std::int64_t>(n)))),
                  std::numeric_limits<double>::infinity());
    EXPECT_LT(half_width(summarise(one_to(6))), 1);
}

// x' = rho x + noise around a log-normal-like skewed median: samples are exp of an AR(1) series, so
// the true median is known (exp of 0, scaled) and the distribution is skewed as times are.
TEST(Summary, IntervalCoversTheTrueMedianWhenNeighboursResembleEachOther) {
    constexpr double rho = 0.4;
    constexpr double true_median = 10'000;
    std::mt19937_64 random(20240229);
    std::normal_distribution<double> noise;
    for (const int length : {20, 100, 500}) {
        constexpr int series_count = 4000;
        int covered = 0;
        for (int repeat = 0; repeat < series_count; ++repeat) {
            Series samples;
            double state = noise(random);
            for (int i = 0; i < length; ++i) {
                samples.push_back(std::llround(true_median * std::exp(0.2 * state)));
                state = rho * state + std::sqrt(1 - rho * rho) * noise(random);
            }
            const Summary summary = summarise(samples);
            if (summary.ci95_lo <= true_median && true_median <= summary.ci95_hi) ++covered;
        }
        EXPECT_GE(covered, 0.93 * series_count) << length << " samples";
    }
}

TEST(WarmPrefix, OfASteadySeriesIsEmpty) {
    EXPECT_EQ(warm_prefix(Series(100, 50)), 0u);
    EXPECT_EQ(warm_prefix(Series{}), 0u);
    EXPECT_EQ(warm_prefix(Series{900, 1, 1}), 0u);  // too short to decide
}

TEST(WarmPrefix, EndsWhereThreeOfFiveAreSteady) {
    Series samples(100, 100);
    for (std::size_t i = 0; i < 8; ++i) samples[i] = 300;
    // Five from index 6 on: 300 300 100 100 100, whose median is steady.
    EXPECT_EQ(warm_prefix(samples), 6u);
}

TEST(WarmPrefix, ForgivesTenPercentAndOneOutlier) {
    Series samples(100, 100);
    for (std::size_t i = 0; i < 10; ++i) samples[i] = 110;
    EXPECT_EQ(warm_prefix(samples), 0u);
    samples[0] = 8600;
    EXPECT_EQ(warm_prefix(samples), 0u);
}

TEST(WarmPrefix, IsAtMostAFifth) {
    Series samples(100, 900);
    for (std::size_t i = 50; i < 100; ++i) samples[i] = 100;
    EXPECT_EQ(warm_prefix(samples), 20u);
}

}  // namespace tutti
