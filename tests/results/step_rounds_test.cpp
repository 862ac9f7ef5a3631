// SPDX-License-Identifier: Apache-2.0
#include "results/comparison/step_rounds.hpp"

#include <gtest/gtest.h>

namespace tutti {
namespace {

using Ends = std::vector<std::int64_t>;

// Two steps and what comes after them; step 1 takes `more` longer in B. `drift`: the machine gets
// slower, the same for all from block to block: A B B A.
QuadOf<Ends> round_with(std::int64_t more, std::int64_t drift) {
    const auto block = [&](int at, std::int64_t grown) {
        const std::int64_t first = 100 + at * drift;
        return Ends{first, first + 50 + grown, first + 60 + grown};
    };
    return {block(0, 0), block(1, more), block(2, more), block(3, 0)};
}

TEST(StepRounds, TakeTheTimeOfAStepFromTheEndOfTheOneBefore) {
    StepRounds rounds;
    rounds.add(round_with(30, 0));
    const auto times = rounds.times();
    ASSERT_TRUE(times.has_value());
    EXPECT_EQ(times->a_ns, (std::vector<double>{100, 50, 10}));
    EXPECT_EQ(times->b_ns, (std::vector<double>{100, 80, 10}));
    EXPECT_EQ(times->grew_ns, (std::vector<double>{0, 30, 0}));
    EXPECT_EQ(times->grew_most(), 1U);
}

TEST(StepRounds, AMachineThatGetsSlowerIsNoGrowth) {
    StepRounds rounds;
    for (int i = 0; i < 3; ++i) rounds.add(round_with(30, 1000));
    EXPECT_EQ(rounds.times()->grew_ns, (std::vector<double>{0, 30, 0}));
}

TEST(StepRounds, OneRoundOfThreeDoesNotDecide) {
    StepRounds rounds;
    for (const std::int64_t more : {30, 30, 9000}) rounds.add(round_with(more, 0));
    EXPECT_EQ(rounds.times()->grew_ns, (std::vector<double>{0, 30, 0}));
}

TEST(StepRounds, PlansOfDifferentStepsAreNotCompared) {
    StepRounds rounds;
    EXPECT_FALSE(rounds.times().has_value());
    rounds.add(round_with(30, 0));
    rounds.add({Ends{1, 2, 3}, Ends{1, 2, 3}, Ends{1, 2}, Ends{1, 2}});
    EXPECT_FALSE(rounds.times().has_value());
}

TEST(StepRounds, OfSeveralLaunchesTheMiddleOneCounts) {
    std::vector<StepGrowth> launches;
    for (const double grew : {5.0, -1.0, 7.0})
        launches.push_back({.metric = "m",
                            .launches = 1,
                            .a_ns = {10, 1},
                            .b_ns = {10 + grew, 1},
                            .grew_ns = {grew, 0}});
    const StepGrowth all = median_of(launches);
    EXPECT_EQ(all.launches, 3);
    EXPECT_EQ(all.metric, "m");
    EXPECT_EQ(all.b_ns, (std::vector<double>{15, 1}));
    EXPECT_EQ(all.grew_ns, (std::vector<double>{5, 0}));
}

}  // namespace
}  // namespace tutti
