// SPDX-License-Identifier: Apache-2.0
// Where messages are received, with schedules that no algorithm of the catalog has.
#include "collectives/execute/messages/message_draft.hpp"

#include <gtest/gtest.h>

#include <vector>

#include "collectives/algorithms/catalog.hpp"
#include "collectives/schedule/count.hpp"

namespace tutti {
namespace {

// Rank 0 of two sends to 1; then both send what they hold to each other.
MessageDraft draft_of_swap(Rank me) {
    const Schedule swap({.ranks = 2, .chunks = 1, .steps = 2}, [](int step, Step& out) {
        out.copy({.chunks = whole_message, .from = {0}, .to = {1}});
        if (step == 1) out.copy({.chunks = whole_message, .from = {1}, .to = {0}});
    });
    const Call call{.collective = Collective::all_reduce, .count = 4};
    std::vector<std::byte> input(16), output(16);
    const PlanRequest request{
        .schedule = swap, .call = call, .buffers = {.input = input, .output = output}};
    return draft_messages(request, me).at(0);
}

// Arriving data must not overwrite data that is still being sent.
TEST(MessageDraft, ReceivesIntoOtherMemoryThanIsBeingSent) {
    const MessageDraft draft = draft_of_swap(Rank{1});
    ASSERT_EQ(draft.steps.size(), 2U);
    ASSERT_EQ(draft.steps[1].sends.size(), 1U);
    EXPECT_EQ(draft.steps[1].sends[0].place.in, Place::In::output);
    ASSERT_EQ(draft.steps[1].receives.size(), 1U);
    EXPECT_EQ(draft.steps[1].receives[0].place.in, Place::In::inbox);
    EXPECT_EQ(draft.steps[1].moves.size(), 1U);
    EXPECT_GE(draft.inbox, 16U);
}

// If nothing is in the way, the result is received at its destination, and nothing is moved.
TEST(MessageDraft, ReceivesAResultWhereItBelongs) {
    for (const int step : {0, 1}) {
        // Rank 0 sends from its input, which receives nothing.
        const MessageDraft draft = draft_of_swap(Rank{step == 0 ? 1 : 0});
        ASSERT_EQ(draft.steps.at(static_cast<std::size_t>(step)).receives.size(), 1U);
        EXPECT_EQ(draft.steps[static_cast<std::size_t>(step)].receives[0].place.in,
                  Place::In::output);
        EXPECT_TRUE(draft.steps[static_cast<std::size_t>(step)].moves.empty());
    }
}

// The messages that `tutti show` counts are those that are sent.
TEST(MessageDraft, SendsAsManyMessagesAsAreCounted) {
    for (const Algorithm& algorithm : catalog())
        for (int ranks = 1; ranks <= 9; ++ranks) {
            const Job job{.collective = algorithm.collective, .ranks = ranks};
            if (algorithm.refuses(job)) continue;
            const Schedule schedule = algorithm.build(job);
            const Call call{.collective = job.collective, .count = schedule.chunks()};
            const PlanRequest request{.schedule = schedule, .call = call};
            long sent = 0;
            for (Rank me : all_ranks(ranks)) {
                const MessageDraft draft = draft_messages(request, me).at(0);
                for (const DraftStep& step : draft.steps) sent += std::ssize(step.sends);
            }
            EXPECT_EQ(sent, count(schedule, CollectiveSpec{job.collective, ranks}).messages)
                << name_of(job.collective) << " " << algorithm.name << ", " << ranks << " ranks";
        }
}

}  // namespace
}  // namespace tutti
