// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cmath>
#include <stdexcept>

#include "results/tables/fastest.hpp"
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

Point in_launch(int launch, Point point) {
    point.launch = launch;
    return point;
}

std::vector<const Point*> pointers_to(const std::vector<Point>& points) {
    std::vector<const Point*> pointers;
    for (const Point& point : points) pointers.push_back(&point);
    return pointers;
}

// The ratio of the library to "ring" at the only size.
Ratio ratio_of(const std::vector<Point>& points) {
    const Ranking ranking{pointers_to(points)};
    for (const RankedCell& cell : ranking.sizes().at(0).cells)
        if (ranking.candidates()[cell.candidate].algorithm == "ring") return *cell.over_library;
    throw std::logic_error("no ring");
}

TEST(Ratios, ErrorsOfOneLaunchAddInSquares) {
    const Ratio ratio = ratio_of({point_of("ring", 8, 1000, 3), point_of("mpi", 8, 2000, 4)});
    EXPECT_DOUBLE_EQ(ratio.value, 2);
    EXPECT_NEAR(ratio.low, 2 * std::exp(-std::hypot(std::log(1.03), std::log(0.96))), 1e-9);
    EXPECT_NEAR(ratio.high, 2 * std::exp(std::hypot(std::log(0.97), std::log(1.04))), 1e-9);
    EXPECT_TRUE(ratio.is_significant());
    EXPECT_FALSE(
        ratio_of({point_of("ring", 8, 1000, 3), point_of("mpi", 8, 1049, 4)}).is_significant());
}

TEST(Ratios, OfTooFewCallsAreUnknown) {
    for (const std::size_t n : {5, 6}) {
        Point few = point_of("ring", 8, 1000);
        few.time.n = n;
        const Ratio ratio = ratio_of({few, point_of("mpi", 8, 9000)});
        EXPECT_DOUBLE_EQ(ratio.value, 9);
        EXPECT_EQ(ratio.is_known(), n >= 6);
        EXPECT_EQ(ratio.is_significant(), n >= 6);
    }
}

// Half of the launches are twice as slow, for all candidates alike.
TEST(Ratios, OfManyLaunchesAreTheirMedianWithOrderStatistics) {
    std::vector<Point> points;
    int launch = 0;
    for (const std::int64_t time : {100, 200, 102, 198, 100, 204, 97}) {
        points.push_back(in_launch(++launch, point_of("ring", 8, time, 0)));
        points.push_back(in_launch(launch, point_of("mpi", 8, 3 * time, 0)));
    }
    points.pop_back();  // one launch lacks the library
    const Ratio ratio = ratio_of(points);
    EXPECT_EQ(ratio.launches, 6);
    for (const double value : {ratio.value, ratio.low, ratio.high}) EXPECT_NEAR(value, 3, 1e-9);

    std::vector<LogValue> logs;
    for (int i = 1; i <= 20; ++i) logs.push_back({std::log(i), 0, 0});
    // lo = floor((20 - 8.77) / 2) = 5, hi = ceil(1 + (20 + 8.77) / 2) = 16
    EXPECT_NEAR(over_launches(logs)->low, 5, 1e-9);
    EXPECT_NEAR(over_launches(logs)->high, 16, 1e-9);
}

// Mean of the logarithms plus and minus 4.303 (t, 97.5 %, two degrees of freedom) standard errors.
TEST(Ratios, OfFewLaunchesAreSpreadByStudentsT) {
    std::vector<Point> points;
    int launch = 0;
    for (const std::int64_t time : {2000, 2500, 3000}) {
        points.push_back(in_launch(++launch, point_of("ring", 8, 1000, 0)));
        points.push_back(in_launch(launch, point_of("mpi", 8, time, 0)));
    }
    const Ratio ratio = ratio_of(points);
    EXPECT_NEAR(ratio.value, std::cbrt(2 * 2.5 * 3), 1e-9);
    EXPECT_NEAR(ratio.low, 1.4891, 1e-3);
    EXPECT_NEAR(ratio.high, 4.0845, 1e-3);
}

TEST(Ratios, OfEqualLaunchesAreNoSurerThanTheirCalls) {
    std::vector<Point> points;
    for (const int launch : {1, 2, 3}) {
        points.push_back(in_launch(launch, point_of("ring", 8, 1000, 10)));
        points.push_back(in_launch(launch, point_of("mpi", 8, 1010, 10)));
    }
    EXPECT_FALSE(ratio_of(points).is_significant());
}

TEST(Ranking, TiesOfTooFewCallsAreTheNearOnes) {
    std::vector<Point> points{point_of("ring", 8, 100), point_of("tree", 8, 105),
                              point_of("chain", 8, 300)};
    points[1].time.n = points[2].time.n = 3;
    const Ranking ranking{pointers_to(points)};
    for (const RankedCell& cell : ranking.sizes().at(0).cells) {
        const std::string& name = ranking.candidates()[cell.candidate].algorithm;
        EXPECT_EQ(cell.is_tied, name != "chain") << name;
        EXPECT_EQ(cell.is_unknown, name != "ring") << name;
    }
}

TEST(Ranking, LeavesOutSkippedAndWrongOnes) {
    std::vector<Point> points{point_of("ring", 8, 100), point_of("tree", 8, 90),
                              point_of("chain", 8, 300), point_of("mpi", 8, 600)};
    points[0].skipped = "no";
    points[1].measured.check = {.state = CheckState::fail, .n_wrong = 7};
    const Fastest fastest = fastest_of(points);
    EXPECT_EQ(fastest.of_tutti, std::set{points[2].key});
    EXPECT_EQ(fastest.of_libraries, std::set{points[3].key});
    EXPECT_EQ(fastest.of_all, std::set{points[2].key});
    const Ranking ranking{pointers_to(points)};
    EXPECT_EQ(ranking.candidates().size(), 2u);
    ASSERT_EQ(ranking.wrong().size(), 1u);
    EXPECT_EQ(ranking.wrong()[0].elements, 7);
}

// In one launch all took thrice as long while the ring was measured, and the library as well.
TEST(Ranking, IsByTheRatiosToTheLibrary) {
    const std::vector<std::int64_t> ring{100, 120, 300}, tree{110, 110, 330}, mpi{300, 360, 900};
    std::vector<Point> points;
    for (std::size_t i = 0; i < ring.size(); ++i) {
        const int launch = static_cast<int>(i) + 1;
        points.push_back(in_launch(launch, point_of("ring", 8, ring[i])));
        points.push_back(in_launch(launch, point_of("tree", 8, tree[i])));
        points.push_back(in_launch(launch, point_of("mpi", 8, mpi[i])));
    }
    EXPECT_EQ(fastest_of(points).of_tutti, std::set{points[0].key});  // whose median is the larger
    const Ranking ranking{pointers_to(points)};
    for (const RankedCell& cell : ranking.sizes().at(0).cells) {
        EXPECT_GE(cell.over_best->value, 1);
        EXPECT_LE(cell.over_best->low, cell.over_best->value);
        EXPECT_GE(cell.over_best->high, cell.over_best->value);
    }
    std::erase_if(points, [](const Point& point) { return !point.key.configuration.is_ours(); });
    EXPECT_EQ(fastest_of(points).of_tutti, std::set{points[1].key});
}

TEST(Ranking, DistinguishesCandidatesByWhatDiffers) {
    std::vector<Point> points{point_of("ring", 8, 100), point_of("chain", 8, 100),
                              point_of("chain", 8, 101), point_of("ring", 4096, 100)};
    points[0].key.configuration.segment = {65536};  // the only one of ring at this size
    points[3].key.configuration.segment = {131072};
    points[1].key.configuration.segment = {65536};
    points[2].key.configuration.segment = {16384};
    const Ranking ranking{pointers_to(points)};
    EXPECT_EQ(ranking.candidates().size(), 3u);
    EXPECT_EQ(ranking.candidate_of(points[0].key).segment, Bytes{0});
    EXPECT_EQ(ranking.candidate_of(points[3].key).segment, Bytes{0});
    EXPECT_EQ(ranking.candidate_of(points[1].key).segment, Bytes{65536});
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
    const std::string table = fastest_table(points);
    for (const char* const cell :
         {"2.00 (1.97 .. 2.03)", "8.00 (7.89 .. 8.11)", "4.00 (3.96 .. 4.04)"})
        EXPECT_TRUE(holds(table, cell));
    EXPECT_FALSE(holds(table, "in place,")) << table;
}

TEST(Fastest, KindsOfMemoryAreNeverOneRanking) {
    std::vector<Point> points{point_of("ring", 8, 100), point_of("tree", 8, 90)};
    points[1].key.buf = "registered";
    EXPECT_EQ(fastest_table(points), "");  // one candidate of each
}

TEST(Fastest, TimesNextToAnAggressorAreNeverInTheRankingOfAQuietHost) {
    std::vector<Point> points{point_of("ring", 8, 100), point_of("tree", 8, 90)};
    points[1].key.aggressor = "memory";
    const Fastest fastest = fastest_of(points);
    EXPECT_EQ(fastest.of_all.size(), 2u);
}

}  // namespace
}  // namespace tutti
