// SPDX-License-Identifier: Apache-2.0
// The common rule by which sender and receiver decide whether the sender may write into the result.
#include <gtest/gtest.h>

#include "collectives/execute/program/pushes.hpp"

namespace tutti {
namespace {

using Sender = PushTerms::Sender;
using Receiver = PushTerms::Receiver;

// The transfer belongs to step 5.
std::optional<int> push(const Sender& sender, const Receiver& receiver) {
    return PushTerms::push_step(sender, receiver, 5);
}

TEST(PushTerms, AreOnlyMetByAnOpenPlace) {
    EXPECT_EQ(push({.computed_in = 3}, {.is_open = true}), 3);
    EXPECT_EQ(push({.computed_in = 3}, {.is_open = false}), std::nullopt);
    EXPECT_EQ(push({}, {.is_open = true, .load = 9}), std::nullopt);  // stored elsewhere
}

// In the pass that computes the chunk: the receiver must have finished with its place before that
// step, and the sender may read there in it, because it reads before it writes.
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

// In the step of the transfer, the rank with the smaller load does the work: so ranks cannot wait
// in a circle.
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
