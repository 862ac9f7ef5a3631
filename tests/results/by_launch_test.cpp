// SPDX-License-Identifier: Apache-2.0
#include "results/stored/by_launch.hpp"

#include <gtest/gtest.h>

namespace tutti {
namespace {

Point point_of(const std::string& session, std::int64_t count, std::int64_t ns) {
    Point point{.session = session};
    point.key.count = count;
    point.time.p50 = ns;
    return point;
}

// A session with one launch that measured these points.
void add(Results& results, const std::string& id, std::vector<Point> points,
         std::optional<std::string> resume_of = {}) {
    results.sessions.push_back({.id = id, .resume_of = std::move(resume_of)});
    results.launches.push_back({.session = id, .nranks = 2});
    results.points.insert(results.points.end(), points.begin(), points.end());
}

std::vector<std::pair<std::int64_t, std::int64_t>> counts_and_times(const Results& launch) {
    std::vector<std::pair<std::int64_t, std::int64_t>> all;
    for (const Point& point : launch.points) {
        EXPECT_EQ(point.session, launch.sessions.front().id);
        all.emplace_back(point.key.count, point.time.p50);
    }
    return all;
}

using Measured = std::vector<std::pair<std::int64_t, std::int64_t>>;

TEST(ByLaunch, EachHasItsOwnRecords) {
    Results results;
    add(results, "a", {point_of("a", 1, 10), point_of("a", 2, 20)});
    results.ends.push_back({.session = "a"});
    add(results, "b", {point_of("b", 1, 11)});
    results.fails.push_back({.session = "b", .what = "timeout"});
    const auto launches = by_launch(results);
    ASSERT_EQ(launches.size(), 2U);
    EXPECT_EQ(counts_and_times(launches[0]), (Measured{{1, 10}, {2, 20}}));
    EXPECT_EQ(counts_and_times(launches[1]), (Measured{{1, 11}}));
    EXPECT_EQ(launches[0].ends.size() + launches[1].fails.size(), 2U);
    EXPECT_TRUE(launches[0].fails.empty() && launches[1].ends.empty());
    EXPECT_EQ(launches[1].launches.front().nranks, 2);
}

// Killed while the second call's candidates were written: that call was measured again.
TEST(ByLaunch, ARunThatWasResumedIsOneLaunch) {
    Results results;
    add(results, "a", {point_of("a", 1, 10), point_of("a", 2, 20)});
    results.fails.push_back({.session = "a"});
    add(results, "b", {point_of("b", 2, 21), point_of("b", 3, 31)}, "a");
    add(results, "c", {point_of("c", 4, 42)}, "b");
    results.ends.push_back({.session = "c"});
    const auto launches = by_launch(results);
    ASSERT_EQ(launches.size(), 1U);
    EXPECT_EQ(launches[0].sessions.front().id, "c");
    EXPECT_EQ(launches[0].launches.size(), 1U);
    EXPECT_EQ(counts_and_times(launches[0]), (Measured{{1, 10}, {2, 21}, {3, 31}, {4, 42}}));
    EXPECT_TRUE(launches[0].fails.empty());
    EXPECT_EQ(launches[0].ends.size(), 1U);
}

// Two candidates may have one key, as a segment that is named and is the default.
TEST(ByLaunch, EqualKeysOfOneSessionAreBothKept) {
    Results results;
    add(results, "a", {point_of("a", 1, 10), point_of("a", 1, 11)});
    EXPECT_EQ(counts_and_times(by_launch(results)[0]), (Measured{{1, 10}, {1, 11}}));
}

TEST(ByLaunch, LeavesOutPointsWithoutMeasurements) {
    Results results;
    add(results, "a", {});
    results.ends.push_back({.session = "a"});
    EXPECT_TRUE(by_launch(results).empty());
}

TEST(ByLaunch, RecordsWithoutTheirSessionAreALaunch) {
    Results results;
    results.points = {point_of("lost", 1, 10), point_of("also lost", 1, 11)};
    results.ends.push_back({.session = "lost"});
    const auto launches = by_launch(results);
    ASSERT_EQ(launches.size(), 2U);
    EXPECT_EQ(launches[0].sessions.size() + launches[0].launches.size(), 2U);
    EXPECT_EQ(launches[0].sessions.front().id, "lost");
    EXPECT_EQ(launches[0].ends.size(), 1U);
    EXPECT_EQ(counts_and_times(launches[0]), (Measured{{1, 10}}));
    EXPECT_EQ(counts_and_times(launches[1]), (Measured{{1, 11}}));
}

}  // namespace
}  // namespace tutti
