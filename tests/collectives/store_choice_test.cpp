// SPDX-License-Identifier: Apache-2.0
#include "collectives/execute/plan/store_choice.hpp"

#include <gtest/gtest.h>

#include <array>

namespace tutti {
namespace {

constexpr std::int64_t mib = 1 << 20;

// Runs calls of different lengths that take `times` for a MiB with none, half or all results
// streamed, three times as long after a change. Returns how many of them used the given share.
int calls_with(double share, StoreChoice& choice, int calls, std::array<std::int64_t, 3> times) {
    int counted = 0;
    double before = choice.streaming_share();
    for (int call = 0; call < calls; ++call) {
        const bool changed = choice.streaming_share() != before;
        before = choice.streaming_share();
        counted += before == share ? 1 : 0;
        const std::int64_t bytes = mib + call * std::int64_t{400'009} % mib,
                           ns = times[static_cast<std::size_t>(before * 2)] * (changed ? 3 : 1);
        choice.record(ns * bytes / mib, bytes);
    }
    return counted;
}

TEST(StoreChoice, KeepsToItsGuessUnlessItAdapts) {
    const StoreChoice choice(Stores::streaming);
    EXPECT_FALSE(choice.adapts());
    EXPECT_EQ(choice.streaming_share(), 1);
}

TEST(StoreChoice, TakesWhatIsFasterWhateverTheGuess) {
    for (const Stores guess : {Stores::cached, Stores::streaming})
        for (const std::size_t best : {0, 1, 2}) {
            std::array<std::int64_t, 3> times{1000, 1000, 1000};
            times[best] = 700;
            const double share = static_cast<double>(best) / 2;
            StoreChoice choice(guess, true);
            calls_with(share, choice, 200, times);
            EXPECT_GE(calls_with(share, choice, 660, times), 630);
        }
}

TEST(StoreChoice, FollowsTheMachineWhenItChanges) {
    StoreChoice choice(Stores::cached, true);
    EXPECT_GE(calls_with(0, choice, 1000, {700, 900, 1000}), 930);
    calls_with(1, choice, 600, {1000, 900, 700});
    EXPECT_GE(calls_with(1, choice, 660, {1000, 900, 700}), 630);
}

TEST(StoreChoice, ForgivesASingleSlowCall) {
    StoreChoice choice(Stores::cached, true);
    calls_with(0, choice, 1000, {700, 900, 1000});
    while (choice.streaming_share() > 0) choice.record(1000, mib);
    choice.record(50'000, mib);
    EXPECT_GE(calls_with(0, choice, 660, {700, 900, 1000}), 630);
}

}  // namespace
}  // namespace tutti
