// SPDX-License-Identifier: Apache-2.0
// Where messages are received, with schedules that no algorithm of the catalog has; and how many
// messages a program sends.
#include <gtest/gtest.h>

#include "collectives/algorithms/catalog.hpp"
#include "collectives/execute/program/program.hpp"
#include "collectives/schedule/count.hpp"

namespace tutti {
namespace {

// Rank 0 of two sends to 1; then both send what they hold to each other.
RankProgram program_of_swap(Rank me) {
    const Schedule swap({.ranks = 2, .chunks = 1, .steps = 2}, [](int step, Step& out) {
        out.copy({.chunks = whole_message, .from = {0}, .to = {1}});
        if (step == 1) out.copy({.chunks = whole_message, .from = {1}, .to = {0}});
    });
    return std::move(compile({.schedule = swap,
                              .call = {.collective = Collective::all_reduce},
                              .method = TransferMethod::messages},
                             me)
                         .at(0));
}

// Arriving data must not overwrite data that is still being sent.
TEST(ProgramMessages, ReceivesIntoOtherMemoryThanIsBeingSent) {
    const RankProgram program = program_of_swap(Rank{1});
    ASSERT_EQ(program.steps.size(), 2U);
    ASSERT_EQ(program.steps[1].sends.size(), 1U);
    EXPECT_EQ(program.steps[1].sends[0].parts[0].place.in, ChunkPlace::In::output);
    ASSERT_EQ(program.steps[1].receives.size(), 1U);
    EXPECT_EQ(program.steps[1].receives[0].parts[0].place.in, ChunkPlace::In::inbox);
    EXPECT_EQ(program.steps[1].moves.size(), 1U);
}

// If nothing is in the way, the result is received at its destination, and nothing is moved.
TEST(ProgramMessages, ReceivesAResultWhereItBelongs) {
    for (const int step : {0, 1}) {
        // Rank 0 sends from its input, which receives nothing.
        const RankProgram program = program_of_swap(Rank{step == 0 ? 1 : 0});
        ASSERT_EQ(program.steps.at(static_cast<std::size_t>(step)).receives.size(), 1U);
        EXPECT_EQ(program.steps[static_cast<std::size_t>(step)].receives[0].parts[0].place.in,
                  ChunkPlace::In::output);
        EXPECT_TRUE(program.steps[static_cast<std::size_t>(step)].moves.empty());
    }
}

// The messages that `tutti show` counts are those that are sent.
TEST(ProgramMessages, SendsAsManyMessagesAsAreCounted) {
    for (const Algorithm& algorithm : catalog())
        for (int ranks = 1; ranks <= 9; ++ranks) {
            const Job job{.collective = algorithm.collective, .ranks = ranks};
            if (algorithm.refuses(job)) continue;
            const Schedule schedule = algorithm.build(job);
            const PlanRequest request{.schedule = schedule,
                                      .call = {.collective = job.collective},
                                      .method = TransferMethod::messages};
            long sent = 0;
            for (Rank me : all_ranks(ranks)) {
                const RankProgram program = std::move(compile(request, me).at(0));
                for (const ProgramStep& step : program.steps) sent += std::ssize(step.sends);
            }
            EXPECT_EQ(sent, count(schedule, CollectiveSpec{job.collective, ranks}).messages)
                << name_of(job.collective) << " " << algorithm.name << ", " << ranks << " ranks";
        }
}

// Memory is allocated, and endpoints are made, for the most bytes of any call.
TEST(MostBytes, HoldForAllCalls) {
    constexpr std::int64_t bytes_of_block = 601;
    for (const Algorithm& algorithm : catalog()) {
        constexpr int ranks = 5;
        const Job job{.collective = algorithm.collective, .ranks = ranks, .segments = 7};
        if (algorithm.refuses(job)) continue;
        const Schedule schedule = algorithm.build(job);
        const CollectiveSpec spec(job.collective, ranks);
        const MostBytes most(spec, schedule.chunks(), bytes_of_block);
        for (Rank me : all_ranks(ranks)) {
            const RankProgram program = std::move(compile({.schedule = schedule,
                                                           .call = {.collective = job.collective},
                                                           .method = TransferMethod::messages},
                                                          me)
                                                      .at(0));
            for (const auto type : {DataType::int8, DataType::int16, DataType::float64})
                for (std::int64_t count = 0;
                     count * static_cast<std::int64_t>(size_of(type)) <= bytes_of_block; ++count) {
                    const Call call{.collective = job.collective, .type = type, .count = count};
                    const Layout layout(call, spec, me, schedule.chunks());
                    std::size_t transit = 0;
                    for (const int chunk : program.transit) transit += layout.bytes_of(chunk);
                    ASSERT_LE(transit, most.transit(program));
                    for (const ProgramStep& step : program.steps)
                        for (const auto* messages : {&step.receives, &step.sends})
                            for (const ChunkMessage& message : *messages)
                                ASSERT_LE(bytes_of(message, layout), most.message(message))
                                    << algorithm.name << ", " << count;
                }
        }
    }
}

}  // namespace
}  // namespace tutti
