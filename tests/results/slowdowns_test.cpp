// SPDX-License-Identifier: Apache-2.0
#include "results/tables/slowdowns.hpp"

#include <gtest/gtest.h>

#include "tests/results/samples.hpp"

namespace tutti {
namespace {

Point point_of(const std::string& algorithm, std::int64_t bytes, std::int64_t median,
               const std::string& aggressor = "") {
    Point point = sample_point();
    point.key.inplace = false;
    point.key.bytes = {bytes};
    point.key.configuration = {.impl = "tutti", .algorithm = algorithm, .transport = "shm"};
    point.key.aggressor = aggressor;
    point.choice.clear();
    point.time.n = 100;
    point.time.p50 = point.time.ci95_lo = point.time.ci95_hi = median;
    return point;
}

TEST(Slowdowns, AreMeansOverTheSizesAndTheWorstSize) {
    const std::vector<Point> points = {point_of("ring", 8, 100'000),
                                       point_of("tree", 8, 50'000),
                                       point_of("ring", 1024, 200'000),
                                       point_of("tree", 1024, 400'000),
                                       point_of("ring", 8, 200'000, "cpu"),
                                       point_of("tree", 8, 75'000, "cpu"),
                                       point_of("ring", 1024, 1600'000, "cpu"),
                                       point_of("tree", 1024, 600'000, "cpu")};
    const std::string table = slowdown_table(points);
    EXPECT_NE(table.find(", next to cpu:"), table.npos) << table;
    const auto tree = table.find("\n# tree (shm)"), ring = table.find("\n# ring (shm)");
    ASSERT_NE(tree, table.npos) << table;
    ASSERT_NE(ring, table.npos) << table;
    EXPECT_LT(tree, ring) << "the least affected comes first";
    // ring: 2 and 8, of which the geometric mean is 4
    EXPECT_NE(table.find("4.00 (4.00 .. 4.00)", ring), table.npos) << table;
    EXPECT_NE(table.find(" 1024  8.00 (8.00 .. 8.00)", ring), table.npos) << table;
    EXPECT_NE(table.find("1.50 (1.50 .. 1.50)", tree), table.npos) << table;
}

TEST(Slowdowns, AreOfOneAggressorAndOneSubjectEach) {
    Point in_place = point_of("ring", 8, 300'000, "cpu");
    in_place.key.inplace = true;
    const std::vector<Point> points = {
        point_of("ring", 8, 100'000), point_of("ring", 8, 300'000, "memory"),
        point_of("ring", 8, 200'000, "cpu"), in_place, point_of("tree", 8, 1'000, "cpu")};
    const std::string table = slowdown_table(points);
    EXPECT_NE(table.find(", next to cpu:"), table.npos) << table;
    EXPECT_NE(table.find("2.00 (2.00 .. 2.00)"), table.npos) << table;
    EXPECT_NE(table.find("next to memory:"), table.npos) << table;
    EXPECT_NE(table.find("3.00 (3.00 .. 3.00)"), table.npos) << table;
    EXPECT_EQ(table.find("in place"), table.npos) << "was not measured alone";
    EXPECT_EQ(table.find("tree"), table.npos) << "was not measured alone";
}

TEST(Slowdowns, AreEmptyWithoutAggressors) {
    EXPECT_EQ(slowdown_table(std::vector<Point>{point_of("ring", 8, 100'000)}), "");
}

}  // namespace
}  // namespace tutti
