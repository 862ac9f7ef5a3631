// SPDX-License-Identifier: Apache-2.0
#include "results/comparison/staged_comparison.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <thread>

namespace tutti {
namespace {

constexpr double seconds_of_launch = 0.05;

// B is about 10 % slower.
ComparisonResult compared_in(double budget_seconds) {
    int made = 0;
    const auto launch = [&](const WantedMetrics&) {
        std::this_thread::sleep_for(std::chrono::duration<double>(seconds_of_launch));
        LaunchOfBoth both{.order = {"call"}};
        both.metrics["call"] = {.change = ++made % 2 == 0 ? 0.09 : 0.1, .a_ns = 100, .b_ns = 110};
        return both;
    };
    return compare(
        launch, {.budget_seconds = budget_seconds},
        {.progress = [](const std::string&) {}, .after_launch = [](const StagedLaunch&) {}});
}

TEST(Comparison, HasTwoStagesOfWhichTheSecondDecides) {
    const ComparisonResult result = compared_in(100 * seconds_of_launch);
    EXPECT_EQ(result.launches, 7 + 12);
    EXPECT_EQ(result.metrics.at(0).stage, 2);
    EXPECT_EQ(result.metrics.at(0).metric.changes.size(), 12U);
    EXPECT_EQ(result.metrics.at(0).judgement.change, Change::slower);
}

// The first stage has seen a small change and hardly any spread; the second one has more.
TEST(Comparison, GoesOnUntilIntervalsAreNarrow) {
    int made = 0;
    const auto launch = [&](const WantedMetrics&) {
        std::this_thread::sleep_for(std::chrono::milliseconds(2));
        const double spread = ++made <= 7 ? 0.001 : 0.12;
        LaunchOfBoth both{.order = {"call"}};
        both.metrics["call"] = {
            .change = 0.02 + spread * (made * 7 % 13 - 6) / 6, .a_ns = 100, .b_ns = 102};
        return both;
    };
    const ComparisonEvents events{.progress = [](const std::string&) {},
                                  .after_launch = [](const StagedLaunch&) {}};
    const ComparisonResult result = compare(launch, {.budget_seconds = 100}, events);
    const MetricResult& call = result.metrics.at(0);
    EXPECT_EQ(call.judgement.change, Change::undecided);
    EXPECT_GT(result.launches, 7 + 24);
    EXPECT_LT(result.launches, 7 + 60);
    EXPECT_LT(call.judgement.visible, 0.03);
    made = 0;
    EXPECT_EQ(compare(launch, {.budget_seconds = 100, .most_launches = 20}, events).launches,
              7 + 20);
}

// In the first stage one launch of two metrics was disturbed; their fresh launches were not.
TEST(Comparison, TheMeanOfWhatIsTheSameIsTheSame) {
    int made = 0;
    const auto launch = [&](const WantedMetrics&) {
        std::this_thread::sleep_for(std::chrono::milliseconds(2));
        ++made;
        LaunchOfBoth both{.order = {"one", "other"}};
        for (const char* name : {"one", "other"})
            both.metrics[name] = {.change = made == 3 ? 0.2 : 0.001 * (made % 5 - 2)};
        return both;
    };
    const ComparisonResult result = compare(
        launch, {.budget_seconds = 100},
        {.progress = [](const std::string&) {}, .after_launch = [](const StagedLaunch&) {}});
    for (const MetricResult& metric : result.metrics) {
        EXPECT_EQ(metric.stage, 2);
        EXPECT_EQ(metric.judgement.change, Change::same);
    }
    ASSERT_TRUE(result.mean);
    const Judgement& mean = result.mean->judgement;
    EXPECT_EQ(judge(std::vector{result.mean->metric}, {})[0].change, Change::undecided);
    EXPECT_EQ(mean.change, Change::same) << mean.reason;
    EXPECT_DOUBLE_EQ(mean.shift.high, result.metrics[0].judgement.shift.high);
    EXPECT_EQ(mean.visible, 0.025);
}

TEST(Comparison, WhatOneLaunchLacksIsNoNewsWhereOthersHaveIt) {
    int made = 0;
    const auto launch = [&](const WantedMetrics&) {
        std::this_thread::sleep_for(std::chrono::milliseconds(2));
        LaunchOfBoth both{.order = {"call", "never"}};
        both.missing["never"] = "not on time";
        if (++made == 2)
            both.missing["call"] = "not on time";
        else
            both.metrics["call"] = {.change = 0.2, .a_ns = 100, .b_ns = 120};
        return both;
    };
    const ComparisonResult result = compare(
        launch, {.budget_seconds = 100},
        {.progress = [](const std::string&) {}, .after_launch = [](const StagedLaunch&) {}});
    EXPECT_EQ(result.missing.count("call"), 0U);
    EXPECT_EQ(result.missing.count("never"), 1U);
}

TEST(Comparison, SpendsABudgetForOneStageOnIt) {
    const ComparisonResult result = compared_in(15.5 * seconds_of_launch);
    EXPECT_GT(result.launches, 8);
    EXPECT_LE(result.launches, 15);
    EXPECT_EQ(result.metrics.at(0).stage, 1);
    EXPECT_EQ(result.metrics.at(0).judgement.change, Change::slower);
}

}  // namespace
}  // namespace tutti
