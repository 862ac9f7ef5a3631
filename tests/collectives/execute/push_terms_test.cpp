// SPDX-License-Identifier: Apache-2.0
// When a sender may write into a receiver's result, which both decide by the same rule.
#include <gtest/gtest.h>

#include "collectives/execute/direct/direct_program.hpp"

namespace tutti {
namespace {

using Sender = PushTerms::Sender;
using Receiver = PushTerms::Receiver;

// The transfer is of step 5.
std::optional<int> push(const Sender& sender, const Receiver& receiver) {
    return PushTerms::push_step(sender, receiver, 5);
}

TEST(PushTerms, AreOnlyMetByAnOpenPlace) {
    EXPECT_EQ(push({.computed_in = 3}, {.is_open = true}), 3);
    EXPECT_EQ(push({.computed_in = 3}, {.is_open = false}), std::nullopt);
    EXPECT_EQ(push({}, {.is_open = true, .load = 9}), std::nullopt);  // kept from elsewhere
}

// In the pass that computes it: the receiver must have done with its place before that step, and
// the sender may read there in it, as it reads before it writes.
TEST(PushTerms, OfAComputedChunkLeaveTheStepBeforeToTheReceiver) {
    const auto with = [](int last_use, int last_read_by_sender) {
        return push(
            {.computed_in = 3},
            {.is_open = true, .last_use = last_use, .last_read_by_sender = last_read_by_sender});
    };
    EXPECT_EQ(with(2, -1), 3);
    EXPECT_EQ(with(3, -1), std::nullopt);
    EXPECT_EQ(with(4, -1), std::nullopt);
    EXPECT_EQ(with(-1, 3), 3);
    EXPECT_EQ(with(-1, 4), std::nullopt);
}

// In the step of the transfer, by whoever has less to do: then nobody waits in a circle.
TEST(PushTerms, OfAnInputGoByTheLoad) {
    const auto with = [](int sender, int receiver, int last_use = -1, int last_read = -1) {
        return push({.from_input = true, .load = sender}, {.is_open = true,
                                                           .last_use = last_use,
                                                           .last_read_by_sender = last_read,
                                                           .load = receiver});
    };
    EXPECT_EQ(with(1, 2), 5);
    EXPECT_EQ(with(2, 2), std::nullopt);
    EXPECT_EQ(with(3, 2), std::nullopt);
    EXPECT_EQ(with(1, 2, 4), 5);
    EXPECT_EQ(with(1, 2, 5), std::nullopt);
    EXPECT_EQ(with(1, 2, -1, 4), 5);
    EXPECT_EQ(with(1, 2, -1, 5), std::nullopt);
}

}  // namespace
}  // namespace tutti
