// SPDX-License-Identifier: Apache-2.0
#include "cli/progress/sweep_pace.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace tutti {
namespace {

constexpr double unbounded = std::numeric_limits<double>::infinity();

// Returns calls of these sizes in units of 64 KiB, each with all candidates.
std::vector<PlannedCall> calls_of_size(const std::vector<double>& sizes, double most = unbounded) {
    std::vector<PlannedCall> calls;
    for (const double one : sizes) calls.push_back({one * 65536, most});
    return calls;
}

std::int64_t ns(double seconds) { return std::llround(seconds * 1e9); }

// Returns the remaining seconds after the first calls took these seconds in turn.
double left_after(SweepPace pace, const std::vector<double>& seconds) {
    double now = 0;
    for (const double one : seconds) pace.measured(ns(now += one));
    return pace.seconds_left(ns(now)).value_or(-1);
}

TEST(SweepPace, PredictsNothingBeforeTheFirstCall) {
    EXPECT_EQ(SweepPace(calls_of_size({1, 2}), 0, 0).seconds_left(0), std::nullopt);
}

TEST(SweepPace, ExpectsTheTimeOfTheOnlyCallForAll) {
    EXPECT_NEAR(left_after({calls_of_size({8, 800, 80000}), 0, 0}, {3}), 6, 1e-3);
}

// A call takes 2 s and 1 s per MiB.
TEST(SweepPace, IsALineOverBytes) {
    const double mib = 1 << 20;
    EXPECT_NEAR(left_after({calls_of_size({mib, 2 * mib, 4 * mib, 16 * mib}), 0, 0}, {3, 4, 6}), 18,
                1e-2);
    EXPECT_NEAR(left_after({calls_of_size({mib, 2 * mib, 4 * mib, 16 * mib}), 0, 0}, {3, 4}),
                6 + 18, 1e-2);
}

TEST(SweepPace, RepeatsTheSizesForAnotherType) {
    EXPECT_NEAR(left_after({calls_of_size({1, 10, 100, 1, 10, 100}), 0, 0}, {2, 11, 101}), 114,
                1e-2);
}

// Calls get faster, so there is no slope. (c/10 - 1)^2 + (c/2 - 1)^2 is minimal at c = 0.6 / 0.26.
TEST(SweepPace, HasNoNegativeSlope) {
    EXPECT_NEAR(left_after({calls_of_size({1, 100, 100}), 0, 0}, {10, 2}), 0.6 / 0.26, 1e-3);
}

// The line through 1 s at 10 and 3 s at 20 begins below 0. (10 b - 1)^2 + (20 b / 3 - 1)^2 is
// minimal at b = (10 + 20 / 3) / (100 + 400 / 9).
TEST(SweepPace, HasNoNegativeIntercept) {
    EXPECT_NEAR(left_after({calls_of_size({10, 20, 30}), 0, 0}, {1, 3}),
                30 * (10 + 20. / 3) / (100 + 400. / 9), 1e-2);
}

TEST(SweepPace, IsBoundedByTheOptionsUntilACallTookLonger) {
    // The line 1 + bytes gives 1001 s.
    EXPECT_NEAR(left_after({calls_of_size({1, 9, 1000}, 20), 0, 0}, {2, 10}), 20, 1e-6);
    EXPECT_NEAR(left_after({calls_of_size({1, 9, 1000}, 9), 0, 0}, {2, 10}), 1001, 1);
}

TEST(SweepPace, IsBoundedByTheBudgetUntilThatIsSpent) {
    EXPECT_NEAR(left_after({calls_of_size({1, 9, 1000}), 30, 0}, {2, 10}), 18, 1e-6);
    EXPECT_NEAR(left_after({calls_of_size({1, 9, 1000}), 11, 0}, {2, 10}), 1001, 1);
}

// The second call was disturbed: 8 B and 32 B take equally long, so larger sizes are not hours.
TEST(SweepPace, HasNoSlopeBetweenSmallCalls) {
    const SweepPace pace({{8, unbounded}, {32, unbounded}, {16 << 20, unbounded}}, 0, 0);
    EXPECT_LT(left_after(pace, {1, 3}), 3);
}

TEST(SweepPace, TellsOnceTheBudgetCannotBeKept) {
    SweepPace pace(calls_of_size({1, 1, 1, 1, 1}), 10, 0);
    EXPECT_EQ(pace.seconds_beyond_budget(0), std::nullopt);
    pace.measured(ns(2));
    EXPECT_EQ(pace.seconds_beyond_budget(ns(2)), std::nullopt);
    pace.measured(ns(9));  // the fastest call took 2 s
    EXPECT_NEAR(pace.seconds_beyond_budget(ns(9)).value_or(0), 15, 1e-9);
    EXPECT_NEAR(pace.seconds_left(ns(9)).value_or(0), 6, 1e-9);
}

TEST(SweepPace, CountsTheTimeOfTheCurrentCall) {
    SweepPace pace(calls_of_size({5, 5, 5}), 0, ns(100));
    pace.measured(ns(104));
    EXPECT_NEAR(*pace.seconds_left(ns(104)), 8, 1e-3);
    EXPECT_NEAR(*pace.seconds_left(ns(107)), 1 + 4, 1e-3);
    EXPECT_NEAR(*pace.seconds_left(ns(200)), 9.6 + 4, 1e-3);  // longer than expected
}

TEST(SweepPace, DoesNotCountWhatAnEarlierRunMeasured) {
    SweepPace pace(calls_of_size({5, 5, 5, 5}), 0, 0);
    pace.known(ns(1));
    pace.measured(ns(4));
    EXPECT_NEAR(*pace.seconds_left(ns(4)), 6, 1e-3);
}

TEST(MostSeconds, OfATrialAreTwiceThoseOfItsCalls) {
    Protocol protocol{.max_seconds = 0.2, .max_samples = 1000};
    EXPECT_DOUBLE_EQ(most_seconds_of_trial(protocol, 0), 0.4);       // not known
    EXPECT_DOUBLE_EQ(most_seconds_of_trial(protocol, 1e-3), 0.4);    // 1 s of calls
    EXPECT_DOUBLE_EQ(most_seconds_of_trial(protocol, 1e-6), 0.002);  // 1000 calls
    protocol.fixed_samples = 97;
    protocol.warm_up_calls = 3;
    EXPECT_DOUBLE_EQ(most_seconds_of_trial(protocol, 0.1), 20);
    EXPECT_EQ(most_seconds_of_trial(protocol, 0), unbounded);
}

TEST(MostSeconds, OfASweepAreThoseOfAllCallsOrTheBudget) {
    EXPECT_EQ(SweepPace(calls_of_size({1, 1}, 4), 0, 0).most_seconds(), 8);
    EXPECT_EQ(SweepPace(calls_of_size({1, 1}, 4), 5, 0).most_seconds(), 5);
    EXPECT_EQ(SweepPace(calls_of_size({1, 1}), 5, 0).most_seconds(), 5);
    EXPECT_EQ(SweepPace(calls_of_size({1, 1}), 0, 0).most_seconds(), unbounded);
}

// There are 3 candidates, both placements and 2 kinds of buffers; the model has one candidate.
TEST(PlannedCalls, AreThoseOfAllTrials) {
    Sweep sweep{.candidates = {{.configuration = {.algorithm = "known"}}, {}, {}},
                .counts = {10, 1000},
                .in_place = {false, true},
                .buffers = {BufferKind::registered, BufferKind::unregistered},
                .protocol = {.max_seconds = 0.25, .max_samples = 100}};
    sweep.predict = [](const Candidate& one, const Call& call,
                       BufferKind) -> std::optional<double> {
        if (one.configuration.algorithm != "known") return std::nullopt;
        return 100.0 * static_cast<double>(call.count);  // ns
    };
    const auto calls = planned_calls(sweep, 2);
    ASSERT_EQ(calls.size(), 2U);
    EXPECT_EQ(calls[0].bytes, 40);
    EXPECT_EQ(calls[1].bytes, 4000);
    // The model gives 100 calls of 1 us and 100 us, the others take 0.25 s; 4 trials each, twice.
    EXPECT_NEAR(calls[0].most_seconds, 8 * (0.0001 + 0.5), 1e-9);
    EXPECT_NEAR(calls[1].most_seconds, 8 * (0.01 + 0.5), 1e-9);
}

}  // namespace
}  // namespace tutti
