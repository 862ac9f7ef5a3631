// SPDX-License-Identifier: Apache-2.0
// Computes results from stamps of steps with known times.
#include "workloads/steps/measure_steps.hpp"

#include <gtest/gtest.h>

#include <map>

#include "base/index.hpp"

namespace tutti {
namespace {

// A method of which each kind of step takes the given time, and its own computing a longer one.
struct Times {
    std::int64_t whole, compute, communication, computing_in_whole;
};

RunStep steps_of(const Times& times,
                 std::map<StepPart, std::vector<std::int64_t>>* numbers = nullptr) {
    return [=](StepPart part, std::int64_t number) {
        if (numbers != nullptr) (*numbers)[part].push_back(number);
        StepStamps stamps{.begin_ns = 1000};
        switch (part) {
            case StepPart::whole:
                stamps.end_ns = 1000 + times.whole;
                stamps.compute_ns = times.computing_in_whole;
                break;
            case StepPart::compute:
                stamps.end_ns = 1000 + times.compute;
                stamps.compute_ns = times.compute;
                break;
            case StepPart::communication:
                stamps.end_ns = 1000 + times.communication;
                break;
        }
        return stamps;
    };
}

// Computing that communication slows down is exposed communication, too: what counts is the step
// that computes undisturbed, not the computing within the step, of which 100 - 85 would be left.
TEST(Exposed, IsTheStepWithoutWhatItTakesToComputeUndisturbed) {
    run_as_threads(2, 60, [](World& world) {
        const StepProtocol protocol{.min_rounds = 4, .max_rounds = 4, .keep_samples = true};
        const Times slowed{
            .whole = 100, .compute = 60, .communication = 70, .computing_in_whole = 85};
        const auto steps = measure_steps(world, {steps_of(slowed)}, protocol);
        ASSERT_EQ(steps.size(), 1U);
        EXPECT_EQ(steps[0].exposed.p50, 100 - 60);
        EXPECT_EQ(steps[0].samples->exposed, (std::vector<std::int64_t>(4, 40)));
        EXPECT_EQ(steps[0].step.p50, 100);
        EXPECT_EQ(steps[0].compute.p50, 60);
        EXPECT_EQ(steps[0].communication.p50, 70);
        EXPECT_EQ(steps[0].computing.p50, 85);
    });
}

// All methods are compared with the same step that only computes, which the first of them does.
TEST(Exposed, OfAllMethodsIsAgainstTheSameComputing) {
    run_as_threads(2, 60, [](World& world) {
        const StepProtocol protocol{.min_rounds = 3, .max_rounds = 3};
        const auto steps = measure_steps(
            world, {steps_of({100, 60, 70, 60}), steps_of({130, 90, 70, 60})}, protocol);
        EXPECT_EQ(steps[0].exposed.p50, 100 - 60);
        EXPECT_EQ(steps[1].exposed.p50, 130 - 60);
    });
}

TEST(Rounds, AreAsManyAsAskedForAndThoseOfTheWarmUpDoNotCount) {
    run_as_threads(2, 60, [](World& world) {
        std::map<StepPart, std::vector<std::int64_t>> numbers;
        const StepProtocol protocol{
            .min_rounds = 5, .max_rounds = 5, .warm_up = 2, .keep_samples = true};
        const auto steps = measure_steps(world, {steps_of({100, 60, 70, 60}, &numbers)}, protocol);
        EXPECT_EQ(steps[0].step.n, 5U);
        EXPECT_EQ(steps[0].samples->step.size(), 5U);
        // Each round is the next recorded step, in all its parts.
        const std::vector<std::int64_t> all{0, 1, 2, 3, 4, 5, 6};
        for (const StepPart part : {StepPart::whole, StepPart::compute, StepPart::communication})
            EXPECT_EQ(numbers[part], all);
    });
}

// Constant times are known after the least number of rounds.
TEST(Rounds, AreAtLeastAsManyAsAskedFor) {
    run_as_threads(2, 60, [](World& world) {
        const StepProtocol protocol{.min_rounds = 17, .max_rounds = 100};
        EXPECT_EQ(measure_steps(world, {steps_of({100, 60, 70, 60})}, protocol)[0].step.n, 17U);
    });
}

// The step lasts from the last begin to the last end, on whichever ranks these are.
TEST(StepTimes, OfAStepAreThoseOfTheLastRankWhicheverItIs) {
    for (const std::size_t last : {0, 1, 2}) {
        std::vector<StepStamps> all(3);
        for (std::size_t rank = 0; rank < 3; ++rank) {
            all[rank].begin_ns = rank == last ? 130 : 100;
            all[rank].end_ns = rank == last ? 900 : 500;
            all[rank].compute_ns = rank == last ? 70 : 40;
        }
        const StepTimes times = times_of(all);
        EXPECT_EQ(times.step, 900 - 130);
        EXPECT_EQ(times.compute, 70);
        EXPECT_EQ(times.last, Rank{static_cast<int>(last)});
    }
}

}  // namespace
}  // namespace tutti
