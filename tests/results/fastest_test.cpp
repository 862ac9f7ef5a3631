// SPDX-License-Identifier: Apache-2.0
#include "results/tables/fastest.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "tests/results/samples.hpp"

namespace tutti {
namespace {

// `percent`: half the interval of the median.
Point point_of(const std::string& algorithm, std::int64_t bytes, std::int64_t median,
               std::int64_t percent = 1) {
    Point point = sample_point();
    point.key.inplace = false;
    point.key.bytes = {bytes};
    point.key.configuration = {.impl = "tutti", .algorithm = algorithm, .transport = "shm"};
    if (algorithm == "mpi") point.key.configuration = {.impl = "mpi"};
    point.choice.clear();
    point.pct_of_limit.reset();
    point.time.n = 100;
    point.time.p50 = median;
    point.time.ci95_lo = median - median * percent / 100;
    point.time.ci95_hi = median + median * percent / 100;
    return point;
}

std::vector<const Point*> pointers_to(const std::vector<Point>& points) {
    std::vector<const Point*> pointers;
    for (const Point& point : points) pointers.push_back(&point);
    return pointers;
}

TEST(TimesAsFast, ErrorsAddInSquares) {
    const TimesAsFast ratio =
        times_as_fast(point_of("ring", 8, 1000, 3), point_of("mpi", 8, 2000, 4), SamplesOf::calls);
    EXPECT_DOUBLE_EQ(ratio.ratio, 2);
    EXPECT_NEAR(ratio.low, 2 * std::exp(-std::hypot(std::log(1.03), std::log(0.96))), 1e-9);
    EXPECT_NEAR(ratio.high, 2 * std::exp(std::hypot(std::log(0.97), std::log(1.04))), 1e-9);
    EXPECT_TRUE(ratio.is_apart());
    EXPECT_FALSE(
        times_as_fast(point_of("ring", 8, 1000, 3), point_of("mpi", 8, 1049, 4), SamplesOf::calls)
            .is_apart());
}

TEST(TimesAsFast, OfTooFewSamplesIsUnknown) {
    Point few = point_of("ring", 8, 1000);
    few.time.n = 3;
    const TimesAsFast ratio = times_as_fast(few, point_of("mpi", 8, 9000), SamplesOf::calls);
    EXPECT_DOUBLE_EQ(ratio.ratio, 9);
    EXPECT_FALSE(ratio.is_known());
    EXPECT_FALSE(ratio.is_apart());
}

// Half of the launches are twice as slow, for all candidates alike.
TEST(TimesAsFast, OfLaunchesIsTheRatioWithinEach) {
    Point ring = point_of("ring", 8, 100), mpi = point_of("mpi", 8, 300);
    ring.measured.samples = {100, 200, 102, 198, 100, 204, 97};
    mpi.measured.samples.clear();
    for (const std::int64_t time : ring.measured.samples) mpi.measured.samples.push_back(3 * time);
    const TimesAsFast ratio = times_as_fast(ring, mpi, SamplesOf::launches);
    EXPECT_NEAR(ratio.low, 3, 1e-9);
    EXPECT_NEAR(ratio.high, 3, 1e-9);
    EXPECT_TRUE(ratio.is_apart());

    mpi.measured.samples.pop_back();  // one launch lacks it
    EXPECT_TRUE(times_as_fast(ring, mpi, SamplesOf::launches).by_launch.empty());
}

// Mean of the logarithms plus and minus 4.303 (t, 97.5 %, two degrees of freedom) standard errors.
TEST(TimesAsFast, OfFewLaunchesIsByStudentsT) {
    Point ring = point_of("ring", 8, 100), mpi = point_of("mpi", 8, 300);
    ring.measured.samples = {100, 100, 100};
    mpi.measured.samples = {200, 250, 300};
    const TimesAsFast ratio = times_as_fast(ring, mpi, SamplesOf::launches);
    EXPECT_NEAR(ratio.ratio, std::cbrt(2 * 2.5 * 3), 1e-9);
    EXPECT_NEAR(ratio.low, 1.4891, 1e-3);
    EXPECT_NEAR(ratio.high, 4.0845, 1e-3);
}

TEST(Fastest, WhatIsHardlyKnownIsOnlyAsGoodIfItTakesHardlyLonger) {
    std::vector<Point> points{point_of("ring", 8, 100), point_of("tree", 8, 105),
                              point_of("chain", 8, 300)};
    points[1].time.n = points[2].time.n = 3;
    EXPECT_EQ(fastest_of(pointers_to(points), SamplesOf::calls).as_good,
              std::vector<const Point*>{&points[1]});
}

TEST(Fastest, SkippedAndWrongOnesDoNotCount) {
    std::vector<Point> points{point_of("ring", 8, 100),      point_of("tree", 8, 90),
                              point_of("chain", 8, 300),     point_of("linear", 8, 304),
                              point_of("butterfly", 8, 301), point_of("mpi", 8, 600)};
    points[0].skipped = "no";
    points[1].measured.check.state = CheckState::fail;
    const auto pointers = pointers_to(points);
    const Fastest size = fastest_of(pointers, SamplesOf::calls);
    EXPECT_EQ(size.best, &points[2]);
    EXPECT_EQ(size.library, &points[5]);
    EXPECT_EQ(size.as_good, (std::vector<const Point*>{&points[4], &points[3]}));
}

// In one launch all took thrice as long while the ring was measured, and the library as well.
TEST(Fastest, OfLaunchesIsTheOneWithTheLargestRatioToTheLibrary) {
    std::vector<Point> points{point_of("ring", 8, 120), point_of("tree", 8, 110),
                              point_of("mpi", 8, 300)};
    points[0].measured.samples = {100, 120, 300};
    points[1].measured.samples = {110, 110, 330};
    points[2].measured.samples = {300, 360, 900};
    const auto pointers = pointers_to(points);
    EXPECT_EQ(fastest_of(pointers, SamplesOf::calls).best, &points[1]);
    EXPECT_EQ(fastest_of(pointers, SamplesOf::launches).best, &points[0]);
}

TEST(Fastest, TableHasALineForEachSizeAndTheirMean) {
    std::vector<Point> points;
    for (const bool in_place : {false, true})
        for (const std::int64_t bytes : {8, 4096}) {
            const std::int64_t slower = bytes == 8 ? 2 : 8;  // 4 in the geometric mean
            points.push_back(point_of("ring", bytes, 1000));
            points.push_back(point_of("mpi", bytes, 1000 * slower));
            for (std::size_t i = points.size() - 2; i < points.size(); ++i)
                points[i].key.inplace = in_place;
        }
    const std::string table = fastest_table(points, SamplesOf::calls);
    EXPECT_NE(table.find("# Fastest of 2 candidates: all_reduce float sum, out of place, host"),
              std::string::npos)
        << table;
    EXPECT_NE(table.find("2.00 (1.97 .. 2.03)"), std::string::npos) << table;
    EXPECT_NE(table.find("8.00 (7.89 .. 8.11)"), std::string::npos) << table;
    EXPECT_NE(table.find("# Geometric mean of 2 sizes: 4.00 (3.96 .. 4.04) times as fast"),
              std::string::npos)
        << table;
    EXPECT_EQ(table.find("in place,"), std::string::npos) << table;
}

TEST(Fastest, KindsOfMemoryAreNeverOneRanking) {
    std::vector<Point> points{point_of("ring", 8, 100), point_of("tree", 8, 90)};
    points[1].key.buf = "registered";
    EXPECT_EQ(fastest_table(points, SamplesOf::calls), "");  // one candidate of each
}

}  // namespace
}  // namespace tutti
