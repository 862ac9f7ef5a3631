// SPDX-License-Identifier: Apache-2.0
#include "collectives/execute/store_choice.hpp"

#include <gtest/gtest.h>

namespace tutti {
namespace {

// Calls that take so long by either kind, the first after a change three times that. Returns how
// many of them were done by streaming stores.
int streaming_calls(StoreChoice& choice, int calls, std::int64_t cached, std::int64_t streaming) {
    int streamed = 0;
    Stores before = choice.now();
    for (int call = 0; call < calls; ++call) {
        const bool changed = choice.now() != before;
        before = choice.now();
        const bool streams = before == Stores::streaming;
        streamed += streams ? 1 : 0;
        choice.took((streams ? streaming : cached) * (changed ? 3 : 1));
    }
    return streamed;
}

TEST(StoreChoice, KeepsToItsGuessUnlessItAdapts) {
    const StoreChoice choice(Stores::streaming);
    EXPECT_FALSE(choice.adapts());
    EXPECT_EQ(choice.now(), Stores::streaming);
}

TEST(StoreChoice, TakesWhatIsFasterWhateverTheGuess) {
    for (const Stores guess : {Stores::cached, Stores::streaming}) {
        StoreChoice choice(guess, true);
        streaming_calls(choice, 100, 1000, 700);
        EXPECT_GE(streaming_calls(choice, 660, 1000, 700), 630);
    }
}

TEST(StoreChoice, FollowsTheMachineWhenItChanges) {
    StoreChoice choice(Stores::cached, true);
    EXPECT_LE(streaming_calls(choice, 1000, 700, 1000), 60);
    streaming_calls(choice, 200, 1000, 700);
    EXPECT_GE(streaming_calls(choice, 660, 1000, 700), 630);
}

TEST(StoreChoice, ForgivesASingleSlowCall) {
    StoreChoice choice(Stores::cached, true);
    streaming_calls(choice, 1000, 700, 1000);
    while (choice.now() != Stores::cached) choice.took(1000);
    choice.took(50'000);
    EXPECT_LE(streaming_calls(choice, 660, 700, 1000), 30);
}

}  // namespace
}  // namespace tutti
