// SPDX-License-Identifier: Apache-2.0
#include "cli/compare/comparison.hpp"

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

TEST(Comparison, SpendsABudgetForOneStageOnIt) {
    const ComparisonResult result = compared_in(15.5 * seconds_of_launch);
    EXPECT_GT(result.launches, 8);
    EXPECT_LE(result.launches, 15);
    EXPECT_EQ(result.metrics.at(0).stage, 1);
    EXPECT_EQ(result.metrics.at(0).judgement.change, Change::slower);
}

}  // namespace
}  // namespace tutti
