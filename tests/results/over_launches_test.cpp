// SPDX-License-Identifier: Apache-2.0
#include "results/tables/over_launches.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "results/records/share_of_limit.hpp"
#include "results/tables/text_table.hpp"

namespace tutti {
namespace {

Point point_of_launch(std::int64_t count, std::vector<std::int64_t> samples) {
    Point point;
    point.key.nranks = 2;
    point.key.count = count;
    point.key.bytes = Bytes{count * 4};
    point.measured.check = {.state = CheckState::ok};
    point.time = summarise(samples);
    return point;
}

TEST(OverLaunches, ALaunchIsOneSampleItsMedian) {
    // Within a launch times hardly differ, between launches by much.
    std::vector<Point> points;
    for (const std::int64_t us : {10, 12, 14, 16, 18, 20, 22}) {
        points.push_back(point_of_launch(100, {us * 1000 - 1, us * 1000, us * 1000 + 1}));
        points.push_back(point_of_launch(200, {5000, 5000, 5000}));
    }
    const auto all = over_launches(points);
    ASSERT_EQ(all.size(), 2U);
    EXPECT_EQ(all[0].launches, 7);
    EXPECT_EQ(all[0].point.key.count, 100);
    EXPECT_EQ(all[0].point.time.n, 7U);
    EXPECT_EQ(all[0].point.time.p50, 16'000);
    EXPECT_EQ(all[0].point.measured.samples,
              (std::vector<std::int64_t>{10'000, 12'000, 14'000, 16'000, 18'000, 20'000, 22'000}));
    EXPECT_LE(all[0].point.time.ci95_lo, 12'000);  // order statistics 1 and 7 of 7 make 98 %
    EXPECT_GE(all[0].point.time.ci95_hi, 20'000);
    EXPECT_EQ(all[1].point.time.ci95_lo, 5000);
    // 400 bytes in 16 us
    EXPECT_NEAR(all[0].point.bandwidth.algbw, 0.025, 1e-12);
}

TEST(OverLaunches, OfLimitsTheLeastCountsAsTheMachineWasSeenToAllowIt) {
    std::vector<Point> points(4, point_of_launch(100, {1000}));
    set_limit(points[0], 1500);
    set_limit(points[1], 700);
    set_limit(points[2], 900);
    const Point all = over_launches(points).at(0).point;
    EXPECT_EQ(all.limit_ns, 700);
    EXPECT_EQ(all.pct_of_limit, 70);
    EXPECT_EQ(over_launches(std::span(points).subspan(3)).at(0).point.limit_ns, std::nullopt);
}

TEST(OverLaunches, ShowsAPointThatOneLaunchSkippedOrGotWrong) {
    std::vector<Point> points(3, point_of_launch(100, {1000}));
    points[1].measured.check = {.state = CheckState::fail, .n_wrong = 3};
    auto all = over_launches(points);
    EXPECT_EQ(all[0].point.measured.check.state, CheckState::fail);
    EXPECT_EQ(all[0].point.measured.check.n_wrong, 3);
    points[1].measured.check = {.state = CheckState::skipped};
    EXPECT_EQ(over_launches(points)[0].point.measured.check.state, CheckState::skipped);
    points[2].skipped = "no memory";
    EXPECT_EQ(over_launches(points)[0].point.skipped, "no memory");
}

// Else several launches would hide what each of them tells.
TEST(OverLaunches, EnergyAndNetworkBytesAreThoseOfTheMiddleLaunch) {
    std::vector<Point> points(4, point_of_launch(100, {1000}));
    for (const std::size_t i : {0, 1, 2}) {
        const double value = i == 0 ? 30 : i == 1 ? 10 : 20;
        points[i].measured.energy_J = value;
        points[i].measured.network_bytes = NetworkBytes{.tx_per_call = 5, .rx_per_call = value};
    }
    const Point all = over_launches(points).at(0).point;
    EXPECT_EQ(all.measured.energy_J, 20);
    EXPECT_EQ(all.measured.gpu_energy_J, std::nullopt);
    ASSERT_TRUE(all.measured.network_bytes);
    EXPECT_EQ(all.measured.network_bytes->rx_per_call, 20);
    const TableColumns columns = columns_of(std::vector{all});
    EXPECT_TRUE(columns.energy && columns.wire);
    EXPECT_FALSE(columns.predicted);
}

TEST(OverLaunches, OfStepsEachSummaryIsOfTheLaunchesMedians) {
    std::vector<TrainingStep> steps;
    for (const std::int64_t ms : {10, 11, 30}) {
        TrainingStep& step = steps.emplace_back();
        step.key.method = "ring/shm";
        step.check = {.state = CheckState::ok};
        step.step = summarise(std::vector{ms * 1'000'000});
        step.communication = summarise(std::vector<std::int64_t>{4'000'000});
        step.exposed = summarise(std::vector<std::int64_t>{1'000'000});
    }
    const auto all = over_launches(steps);
    ASSERT_EQ(all.size(), 1U);
    EXPECT_EQ(all[0].launches, 3);
    EXPECT_EQ(all[0].step.step.p50, 11'000'000);
    EXPECT_EQ(all[0].step.step.max, 30'000'000);
    EXPECT_NEAR(all[0].step.overlap, 0.75, 1e-12);
}

}  // namespace
}  // namespace tutti
