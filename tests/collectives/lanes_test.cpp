// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <map>
#include <set>

#include "collectives/execute/program/program.hpp"
#include "collectives/planner/planner.hpp"

namespace tutti {
namespace {

struct Compiled {
    Lanes lanes;
    std::vector<RankProgram> programs;
};

// Compiles for rank 2 of five.
Compiled compiled(const Algorithm& algorithm, Job job, int channels) {
    job.ranks = 5;
    job.collective = algorithm.collective;
    job.order = channels_of({}, channels, job.ranks);
    const Call call{.collective = job.collective, .count = 5 * 64 * 8};
    const Schedule schedule = build_in_order(algorithm, job);
    PlanRequest request{.schedule = schedule, .call = call, .method = TransferMethod::messages};
    request.lanes = lanes_for(algorithm, job, schedule);
    return {request.lanes, compile(request, Rank{2})};
}

std::set<Rank> receivers_of(const RankProgram& program) {
    std::set<Rank> receivers;
    for (const ProgramStep& step : program.steps)
        for (const ChunkMessage& message : step.sends) receivers.insert(message.peer);
    return receivers;
}

// Channels do not wait for each other: each has its own lanes.
TEST(Lanes, OfTwoRingsGoOneInEachDirection) {
    for (const auto collective :
         {Collective::all_reduce, Collective::all_gather, Collective::reduce_scatter}) {
        const auto [lanes, programs] = compiled(find_algorithm(collective, "ring"), {}, 2);
        ASSERT_EQ(programs.size(), 2U) << name_of(collective);
        EXPECT_EQ(receivers_of(programs[0]), std::set<Rank>{Rank{3}});
        EXPECT_EQ(receivers_of(programs[1]), std::set<Rank>{Rank{1}});
    }
}

TEST(Lanes, OfChannelsAndSegmentsHoldOneChannelEach) {
    const auto [lanes, programs] =
        compiled(find_algorithm(Collective::broadcast, "chain"), {.segments = 16}, 2);
    ASSERT_EQ(programs.size(), 8U);  // sixteen segments of each channel, so four lanes each
    std::map<Rank, int> lanes_to;
    for (const RankProgram& program : programs) {
        const auto receivers = receivers_of(program);
        ASSERT_EQ(receivers.size(), 1U);
        ++lanes_to[*receivers.begin()];
    }
    EXPECT_EQ(lanes_to, (std::map<Rank, int>{{Rank{1}, 4}, {Rank{3}, 4}}));
}

TEST(Lanes, AreAtMostEightHoweverManyChannels) {
    for (const int channels : {1, 2, 3, 5, 8, 11, 64})
        for (const int segments : {1, 4, 32, 256}) {
            const auto [lanes, programs] = compiled(find_algorithm(Collective::broadcast, "chain"),
                                                    {.segments = segments}, channels);
            EXPECT_LE(lanes.count, 8);
            EXPECT_GE(lanes.count, std::min(channels, 8));
        }
}

TEST(Lanes, OfOneChannelAreThoseOfItsSegments) {
    const auto count = [](const char* algorithm, int segments) {
        return compiled(find_algorithm(Collective::broadcast, algorithm), {.segments = segments}, 1)
            .lanes.count;
    };
    EXPECT_EQ(count("chain", 1), 1);
    EXPECT_EQ(count("chain", 8), 2);
    EXPECT_EQ(count("chain", 256), 8);
    EXPECT_EQ(count("ring", 256), 1);  // does not use segments
}

}  // namespace
}  // namespace tutti
