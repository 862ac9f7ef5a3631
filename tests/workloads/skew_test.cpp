// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "base/error.hpp"
#include "base/index.hpp"
#include "workloads/program/changed_program.hpp"
#include "workloads/scenarios/program_scenario.hpp"

namespace tutti {
namespace {

// Computes 1 ms in three parts, with a sum on the way.
Program even(int ranks) {
    Program program{.name = "even",
                    .groups = {every_rank_of(ranks)},
                    .calls = {},
                    .tasks = std::vector<std::vector<Task>>(static_cast<std::size_t>(ranks))};
    const int call = program.add_call({.label = "sum", .call = {.count = 100}});
    for (const Rank rank : every_rank_of(ranks)) {
        program.compute(rank, 300'000, Task::Phase::forward);
        program.compute(rank, 500'000, Task::Phase::backward);
        program.start(rank, call, Task::Phase::backward);
        program.compute(rank, 200'000, Task::Phase::backward);
        program.wait(rank, call, Task::Phase::backward);
    }
    return program;
}

constexpr int steps = 16;

std::vector<std::int64_t> of_steps(const Program& program, Rank rank) {
    std::vector<std::int64_t> all;
    for (int step = 0; step < steps; ++step) all.push_back(compute_ns_of_step(program, rank, step));
    return all;
}

TEST(Skew, MakesEachRankLateByADifferentTimeInEachStep) {
    const Program program = skewed(even(3), {.late_ns = 2'000'000});
    check(program);
    std::set<std::int64_t> seen;
    for (const Rank rank : every_rank_of(3)) {
        const auto times = of_steps(program, rank);
        // Late at the start, and as ever from then on.
        const auto& tasks = program.tasks_of(rank);
        EXPECT_EQ(tasks.front().kind, Task::Kind::compute);
        EXPECT_EQ(tasks.size(), even(3).tasks_of(rank).size() + 1);
        EXPECT_EQ(tasks[1].compute_ns.front(), 300'000);
        for (const std::int64_t ns : times) {
            EXPECT_GE(ns, 1'000'000);
            EXPECT_LE(ns, 3'000'000);
            seen.insert(ns);
        }
        // At least one of 16 uniform delays is that long.
        EXPECT_GT(std::ranges::max(times), 2'300'000);
        EXPECT_LT(std::ranges::min(times), 1'700'000);
    }
    EXPECT_EQ(seen.size(), 3U * steps);
}

TEST(Skew, OfAShareStretchesAllOfARanksStepAlike) {
    const Program program = skewed(even(2), {.share = 0.5});
    check(program);
    for (const Rank rank : every_rank_of(2))
        for (int step = 0; step < steps; ++step) {
            const auto& tasks = at(program.tasks, rank);
            ASSERT_EQ(tasks.size(), even(2).tasks[0].size());
            const auto at = static_cast<std::size_t>(step);
            const double factor = static_cast<double>(tasks[0].compute_ns[at]) / 300'000;
            EXPECT_GE(factor, 1);
            EXPECT_LE(factor, 1.5);
            EXPECT_NEAR(static_cast<double>(tasks[1].compute_ns[at]), 500'000 * factor, 2);
            EXPECT_NEAR(static_cast<double>(tasks[3].compute_ns[at]), 200'000 * factor, 2);
        }
}

TEST(Skew, SlowsOneRankInEveryStep) {
    const Program program = skewed(even(3), {.slow = Rank{1}, .slow_factor = 3});
    EXPECT_EQ(of_steps(program, Rank{0}), std::vector<std::int64_t>(steps, 1'000'000));
    EXPECT_EQ(of_steps(program, Rank{1}), std::vector<std::int64_t>(steps, 3'000'000));
    EXPECT_THROW(skewed(even(3), {.slow = Rank{3}, .slow_factor = 3}), Error);
}

TEST(Skew, IsTheSameForASeedAndAnotherForAnother) {
    const Skew skew{.late_ns = 1000, .share = 0.1, .seed = 7};
    Skew other = skew;
    other.seed = 8;
    EXPECT_EQ(skewed(even(2), skew).tasks, skewed(even(2), skew).tasks);
    EXPECT_NE(skewed(even(2), skew).tasks, skewed(even(2), other).tasks);
}

TEST(Skew, KeepsTheRecordedSteps) {
    Program recorded = even(1);
    recorded.tasks[0][0].compute_ns = {100, 200, 300};
    const Program program = skewed(recorded, {.slow = Rank{0}, .slow_factor = 2});
    for (int step = 0; step < 100; ++step)
        EXPECT_EQ(compute_ns_of_step(program, Rank{0}, step),
                  2 * compute_ns_of_step(recorded, Rank{0}, step));
}

TEST(Skew, IsReadAndReported) {
    Skew skew;
    EXPECT_TRUE(skew.is_none());
    skew = with_slow_rank(with_skew(skew, "2ms"), "1:2.5");
    EXPECT_EQ(skew.to_string(), "skew=2ms slow-rank=1:2.5");
    EXPECT_EQ(with_skew({}, "10%").to_string(), "skew=10%");
    for (const char* wrong : {"", "x", "2 parrots", "-1ms", "%"})
        EXPECT_THROW(with_skew(skew, wrong), Error) << wrong;
    for (const char* wrong : {"", "1", "1:", ":3", "1:0.5", "-1:2", "1:2x", "a:2"})
        EXPECT_THROW(with_slow_rank(skew, wrong), Error) << wrong;
}

TEST(SkewEffect, ComparesStepsThatCameRightAfterEachOther) {
    const Program without = even(2);
    const Program with = skewed(without, {.slow = Rank{1}, .slow_factor = 3});
    SkewEffect seen(without, with);
    for (int step = 0; step < 3; ++step)
        seen.add(step, {.step = 1'200'000, .wait = 100'000}, {.step = 4'200'000, .wait = 900'000});
    const std::vector<Metric> expected{{"unskewed_step_ms", 1.2},
                                       {"step_over_unskewed", 3.5},
                                       {"wait_added_ms", 0.8},
                                       {"skew_ms", 2},
                                       {"sensitivity", 1.5}};
    const auto metrics = seen.metrics();
    ASSERT_EQ(metrics.size(), expected.size());
    for (std::size_t i = 0; i < metrics.size(); ++i) {
        EXPECT_EQ(metrics[i].name, expected[i].name);
        EXPECT_NEAR(metrics[i].value, expected[i].value, 1e-9) << metrics[i].name;
    }
}

TEST(Skew, IsReportedForEveryMethod) {
    run_as_threads(2, 60, [&](World& world) {
        Planner planner(world);
        const auto scenario = scenario_of(
            even(2), {}, {}, {.planner = planner, .skew = {.slow = Rank{1}, .slow_factor = 5}});
        const auto all = run_scenario(
            world, *scenario,
            methods_named({.algorithms = {"ring"}, .transports = {"shm"}, .baselines = {"none"}}),
            {.min_rounds = 3, .max_rounds = 3});
        ASSERT_EQ(all.size(), 1U);
        EXPECT_EQ(all[0].check.state, CheckState::ok);
        const Metric expected{"skew_ms", 4};
        EXPECT_EQ(std::ranges::count(all[0].metrics, expected), 1);
    });
}

}  // namespace
}  // namespace tutti
