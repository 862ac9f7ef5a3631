// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <map>
#include <set>

#include "collectives/execute/messages/message_draft.hpp"
#include "collectives/planner/planner.hpp"

namespace tutti {
namespace {

struct Drafted {
    Lanes lanes;
    std::vector<MessageDraft> drafts;
};

// Drafts for rank 2 of five.
Drafted drafted(const Algorithm& algorithm, Job job, int channels) {
    job.ranks = 5;
    job.collective = algorithm.collective;
    job.order = channels_of({}, channels, job.ranks);
    const Call call{.collective = job.collective, .count = 5 * 64 * 8};
    const Schedule schedule = build_in_order(algorithm, job);
    PlanRequest request{.schedule = schedule, .call = call};
    request.lanes = lanes_for(algorithm, job, schedule);
    return {request.lanes, draft_messages(request, Rank{2})};
}

std::set<Rank> receivers_of(const MessageDraft& draft) {
    std::set<Rank> receivers;
    for (const DraftStep& step : draft.steps)
        for (const DraftMessage& message : step.sends) receivers.insert(message.peer);
    return receivers;
}

// Channels do not wait for each other: each has its own lanes.
TEST(Lanes, OfTwoRingsGoOneInEachDirection) {
    for (const auto collective :
         {Collective::all_reduce, Collective::all_gather, Collective::reduce_scatter}) {
        const auto [lanes, drafts] = drafted(find_algorithm(collective, "ring"), {}, 2);
        ASSERT_EQ(drafts.size(), 2U) << name_of(collective);
        EXPECT_EQ(receivers_of(drafts[0]), std::set<Rank>{Rank{3}});
        EXPECT_EQ(receivers_of(drafts[1]), std::set<Rank>{Rank{1}});
    }
}

TEST(Lanes, OfChannelsAndSegmentsHoldOneChannelEach) {
    const auto [lanes, drafts] =
        drafted(find_algorithm(Collective::broadcast, "chain"), {.segments = 16}, 2);
    ASSERT_EQ(drafts.size(), 8U);  // sixteen segments of each channel, so four lanes each
    std::map<Rank, int> lanes_to;
    for (const MessageDraft& draft : drafts) {
        const auto receivers = receivers_of(draft);
        ASSERT_EQ(receivers.size(), 1U);
        ++lanes_to[*receivers.begin()];
    }
    EXPECT_EQ(lanes_to, (std::map<Rank, int>{{Rank{1}, 4}, {Rank{3}, 4}}));
}

TEST(Lanes, AreAtMostEightHoweverManyChannels) {
    for (const int channels : {1, 2, 3, 5, 8, 11, 64})
        for (const int segments : {1, 4, 32, 256}) {
            const auto [lanes, drafts] = drafted(find_algorithm(Collective::broadcast, "chain"),
                                                 {.segments = segments}, channels);
            EXPECT_LE(lanes.count, 8);
            EXPECT_GE(lanes.count, std::min(channels, 8));
        }
}

TEST(Lanes, OfOneChannelAreThoseOfItsSegments) {
    const auto count = [](const char* algorithm, int segments) {
        return drafted(find_algorithm(Collective::broadcast, algorithm), {.segments = segments}, 1)
            .lanes.count;
    };
    EXPECT_EQ(count("chain", 1), 1);
    EXPECT_EQ(count("chain", 8), 2);
    EXPECT_EQ(count("chain", 256), 8);
    EXPECT_EQ(count("ring", 256), 1);  // does not use segments
}

}  // namespace
}  // namespace tutti
