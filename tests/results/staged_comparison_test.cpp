// SPDX-License-Identifier: Apache-2.0
#include "results/comparison/staged_comparison.hpp"

#include <gtest/gtest.h>

#include <cmath>

namespace tutti {
namespace {

// Each launch takes a second of its clock.
struct SimulatedMachine {
    int launches = 0;

    int next_launch() { return ++launches; }
    ComparisonPlan plan(double budget_seconds) {
        return {.budget_seconds = budget_seconds,
                .now_ns = [this] { return launches * std::int64_t{1'000'000'000} + 1000; }};
    }
};

const ComparisonEvents no_events{.progress = [](const std::string&) {},
                                 .after_launch = [](const StagedLaunch&) {}};

// B is about 10 % slower.
ComparisonResult compared_in(double budget_seconds) {
    SimulatedMachine machine;
    const auto launch = [&](const WantedMetrics&) {
        LaunchOfBoth both{.order = {"call"}};
        const double change = machine.next_launch() % 2 == 0 ? 0.09 : 0.1;
        both.metrics["call"] = {.change = change, .a_ns = 100, .b_ns = 110};
        return both;
    };
    return compare(launch, machine.plan(budget_seconds), no_events);
}

TEST(Comparison, HasTwoStagesOfWhichTheSecondDecides) {
    const ComparisonResult result = compared_in(100);
    EXPECT_EQ(result.launches, 7 + 12);
    EXPECT_EQ(result.metrics.at(0).stage, 2);
    EXPECT_EQ(result.metrics.at(0).metric.changes.size(), 12U);
    EXPECT_EQ(result.metrics.at(0).judgement.change, Change::slower);
}

TEST(Comparison, KnowsThatARateThatFallsIsSlower) {
    SimulatedMachine machine;
    const auto launch = [&](const WantedMetrics&) {
        LaunchOfBoth both{.order = {"rate", "time"}};
        const double change = machine.next_launch() % 2 == 0 ? 0.09 : 0.1;
        both.metrics["rate"] = {.change = -change, .higher_is_better = true};
        both.metrics["time"] = {.change = -change};
        return both;
    };
    const ComparisonResult result = compare(launch, machine.plan(100), no_events);
    EXPECT_EQ(result.metrics.at(0).judgement.change, Change::slower);
    EXPECT_LT(result.metrics.at(0).judgement.shift.estimate, 0);
    EXPECT_EQ(result.metrics.at(1).judgement.change, Change::faster);
    EXPECT_NEAR(result.mean.value().judgement.shift.estimate, 0, 1e-9);
}

// Launches of the run that is resumed took no time of this process.
TEST(Comparison, KnowsHowLongItsOwnLaunchesTook) {
    SimulatedMachine machine;
    const auto launch = [&](const WantedMetrics&) {
        machine.next_launch();
        LaunchOfBoth both{.order = {"call"}};
        both.metrics["call"] = {.change = 0.1};
        return both;
    };
    ComparisonPlan plan = machine.plan(100);
    for (int number = 1; number <= 5; ++number)
        plan.known.push_back({.stage = 1, .number = number, .seen = launch({})});
    machine = {};
    const ComparisonResult result = compare(launch, plan, no_events);
    EXPECT_EQ(result.launches, 7 + 12);
    EXPECT_EQ(machine.launches, 2 + 12);
    EXPECT_NEAR(result.launch_seconds, 1, 1e-3);
}

// The first stage has seen a small change and hardly any spread; the second one has more.
TEST(Comparison, SpendsItsBudgetWhileSomethingIsUndecided) {
    SimulatedMachine machine;
    const auto launch = [&](const WantedMetrics&) {
        const int made = machine.next_launch();
        const double spread = made <= 7 ? 0.001 : 0.12;
        LaunchOfBoth both{.order = {"call"}};
        both.metrics["call"] = {.change = 0.02 + spread * (made * 7 % 13 - 6) / 6};
        return both;
    };
    ComparisonResult result = compare(launch, machine.plan(100), no_events);
    EXPECT_EQ(result.metrics.at(0).judgement.change, Change::undecided);
    EXPECT_EQ(result.launches, 100);
    EXPECT_TRUE(result.ran_out);
    machine = {};
    ComparisonPlan plan = machine.plan(100);
    plan.most_launches = 20;
    EXPECT_EQ(compare(launch, plan, no_events).launches, 7 + 20);
}

// More launches would not change that its change is exactly the minimum effect.
TEST(Comparison, StopsWhenMoreLaunchesCannotDecide) {
    SimulatedMachine machine;
    const auto launch = [&](const WantedMetrics&) {
        machine.next_launch();
        LaunchOfBoth both{.order = {"call"}};
        both.metrics["call"] = {.change = std::log1p(0.025)};
        return both;
    };
    const ComparisonResult result = compare(launch, machine.plan(1000), no_events);
    EXPECT_EQ(result.metrics.at(0).judgement.change, Change::undecided);
    EXPECT_EQ(result.launches, 7 + 12);
    EXPECT_FALSE(result.ran_out);
}

// "slow" is decided at the first look; only "open" is measured on.
TEST(Comparison, MeasuresOnlyWhatIsStillUndecided) {
    SimulatedMachine machine;
    const auto launch = [&](const WantedMetrics& wanted) {
        const int made = machine.next_launch();
        LaunchOfBoth both{.order = {"slow", "open"}};
        both.metrics["slow"] = {.change = 0.1 + 0.001 * (made % 3)};
        both.metrics["open"] = {.change = 0.02 + 0.05 * (made * 7 % 13 - 6) / 6};
        for (const char* name : {"slow", "open"})
            if (!wanted.contain(name)) both.metrics.erase(name);
        return both;
    };
    const ComparisonResult result = compare(launch, machine.plan(60), no_events);
    EXPECT_EQ(result.metrics.at(0).judgement.change, Change::slower);
    EXPECT_LT(result.metrics.at(0).launches.size(), 20U);
    EXPECT_EQ(result.metrics.at(1).launches.size(), 60U - 7);
    EXPECT_EQ(result.mean.value().judgement.shift.n, 60U);
}

// In the first stage one launch of two metrics was disturbed; their fresh launches were not.
TEST(Comparison, TheMeanOfWhatIsTheSameIsTheSame) {
    SimulatedMachine machine;
    const auto launch = [&](const WantedMetrics&) {
        const int made = machine.next_launch();
        LaunchOfBoth both{.order = {"one", "other"}};
        for (const char* name : {"one", "other"})
            both.metrics[name] = {.change = made == 3 ? 0.2 : 0.001 * (made % 5 - 2)};
        return both;
    };
    const ComparisonResult result = compare(launch, machine.plan(100), no_events);
    for (const MetricResult& metric : result.metrics) {
        EXPECT_EQ(metric.stage, 2);
        EXPECT_EQ(metric.judgement.change, Change::same);
    }
    ASSERT_TRUE(result.mean);
    const Judgement& mean = result.mean->judgement;
    EXPECT_EQ(mean.change, Change::same) << mean.reason;
    EXPECT_DOUBLE_EQ(mean.shift.high, result.metrics[0].judgement.shift.high);
    EXPECT_LT(mean.visible, 0.03);
}

TEST(Comparison, ReportsNoMissingMetricThatAnotherLaunchHas) {
    SimulatedMachine machine;
    const auto launch = [&](const WantedMetrics&) {
        LaunchOfBoth both{.order = {"call", "never"}};
        both.missing["never"] = "not on time";
        if (machine.next_launch() == 2)
            both.missing["call"] = "not on time";
        else
            both.metrics["call"] = {.change = 0.2, .a_ns = 100, .b_ns = 120};
        return both;
    };
    const ComparisonResult result = compare(launch, machine.plan(100), no_events);
    EXPECT_EQ(result.missing.count("call"), 0U);
    EXPECT_EQ(result.missing.count("never"), 1U);
}

TEST(Comparison, SpendsABudgetForOneStageOnIt) {
    const ComparisonResult result = compared_in(15.5);
    EXPECT_GT(result.launches, 8);
    EXPECT_LE(result.launches, 15);
    EXPECT_EQ(result.metrics.at(0).stage, 1);
    EXPECT_EQ(result.metrics.at(0).judgement.change, Change::slower);
}

}  // namespace
}  // namespace tutti
