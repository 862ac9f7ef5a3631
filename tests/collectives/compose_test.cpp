// SPDX-License-Identifier: Apache-2.0
#include "collectives/schedule/compose.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "base/error.hpp"
#include "collectives/schedule/print.hpp"

namespace tutti {
namespace {

// Returns the transfers as "FROM>TO:CHUNKS", "+" marks reductions; ";" separates steps.
std::string brief(const Schedule& schedule) {
    std::string text;
    for (int step = 0; step < schedule.steps(); ++step) {
        schedule.visit(step, [&](const Transfer& t) {
            text += fmt::format("{}>{}:{}-{}{} ", t.from.index, t.to.index, t.chunks.first,
                                t.chunks.first + t.chunks.count - 1,
                                t.action == Action::reduce ? "+" : "");
        });
        text.back() = ';';
    }
    return text;
}

Schedule one_copy(int chunks) {
    return Schedule({.ranks = 2, .chunks = chunks, .steps = 1}, [=](int, Step& step) {
        step.copy({.chunks = {0, chunks}, .from = {0}, .to = {1}});
    });
}

TEST(Then, CutsChunksFinerWhereTheTwoDiffer) {
    const Schedule both = one_copy(2).then(one_copy(3));
    EXPECT_EQ(both.chunks(), 6);
    EXPECT_EQ(brief(both), "0>1:0-5;0>1:0-5;");
}

TEST(Pipelined, StartsEachSegmentOneStepAfterTheOneBeforeIt) {
    const Schedule chain({.ranks = 3, .chunks = 1, .steps = 2}, [](int step, Step& out) {
        out.copy({.chunks = {}, .from = {step}, .to = {step + 1}});
    });
    EXPECT_EQ(brief(pipelined(chain, 2)), "0>1:0-0;1>2:0-0 0>1:1-1;1>2:1-1;");
}

TEST(Schedules, OfMoreChunksThanCanBeCountedAreRefused) {
    EXPECT_EQ(pipelined(one_copy(1 << 20), 1024).chunks(), 1 << 30);
    EXPECT_THROW(pipelined(one_copy(1 << 20), 4096), Error);
    EXPECT_EQ(side_by_side({one_copy(1 << 29), one_copy(1 << 29)}, 1).chunks(), 1 << 30);
    EXPECT_THROW(side_by_side({one_copy(1 << 30), one_copy(1 << 30)}, 1), Error);
}

TEST(Mirrored, ReversesEveryTransferLastStepFirst) {
    const Schedule chain({.ranks = 3, .chunks = 1, .steps = 2}, [](int step, Step& out) {
        out.copy({.chunks = {}, .from = {step}, .to = {step + 1}});
    });
    EXPECT_EQ(brief(mirrored(chain, Action::reduce)), "2>1:0-0+;1>0:0-0+;");
}

// Rank 1 of an all-gather receives everything but its own chunks, which lie in the middle.
TEST(WithoutReturns, LeavesOutWhatTheReceiverStartsWith) {
    const Schedule everything({.ranks = 3, .chunks = 6, .steps = 1}, [](int, Step& step) {
        for (const int to : {1, 2}) step.copy({.chunks = {0, 6}, .from = {0}, .to = {to}});
    });
    EXPECT_EQ(brief(without_returns(everything, {Collective::all_gather, 3})),
              "0>1:0-1 0>1:4-5 0>2:0-3;");
    EXPECT_EQ(brief(without_returns(everything, {Collective::broadcast, 3, Rank{1}})), "0>2:0-5;");
    EXPECT_EQ(brief(without_returns(everything, {Collective::all_reduce, 3})), brief(everything));
}

TEST(OnEach, RunsInsideGroupsOfDifferentSizesAtOnce) {
    const auto to_all = [](int size) {
        return Schedule({.ranks = size, .chunks = 1, .steps = size > 1 ? 1 : 0},
                        [=](int, Step& out) {
                            for (int to = 1; to < size; ++to)
                                out.copy({.chunks = {}, .from = {0}, .to = {to}});
                        });
    };
    const Schedule groups =
        on_each(4, 1, {{.members = {{3}, {0}}}, {.members = {{1}}}, {.members = {{2}}}}, to_all);
    EXPECT_EQ(brief(groups), "3>0:0-0;");
}

// Position 0 sends its block to position 1.
Schedule first_sends_to_second() {
    return Schedule({.ranks = 3, .chunks = 3, .steps = 1}, [](int, Step& out) {
        out.copy({.chunks = {0, 1}, .from = {0}, .to = {1}});
    });
}

TEST(Reordered, MovesRanksAndTheirBlocksToPositions) {
    const std::vector<Rank> order{{2}, {0}, {1}};
    EXPECT_EQ(brief(reordered(first_sends_to_second(), order, Collective::all_gather)), "2>0:2-2;");
}

TEST(Reordered, LeavesAMessageWithoutBlocksAsItIs) {
    const std::vector<Rank> order{{2}, {0}, {1}};
    EXPECT_EQ(brief(reordered(first_sends_to_second(), order, Collective::all_reduce)), "2>0:0-0;");
}

TEST(Reordered, SplitsARunOnlyWhereItsBlocksComeApart) {
    const Schedule all({.ranks = 3, .chunks = 6, .steps = 1}, [](int, Step& out) {
        out.copy({.chunks = {1, 5}, .from = {0}, .to = {1}});  // half of block 0, blocks 1 and 2
    });
    EXPECT_EQ(brief(reordered(all, {{2}, {0}, {1}}, Collective::all_gather)), "2>0:5-5 2>0:0-3;");
}

TEST(Reordered, MovesBothEndsOfABlockOfAPair) {
    const Schedule one({.ranks = 2, .chunks = 4, .steps = 1}, [](int, Step& out) {
        out.copy({.chunks = {0 * 2 + 1, 1}, .from = {0}, .to = {1}});
    });
    EXPECT_EQ(brief(reordered(one, {{1}, {0}}, Collective::all_to_all)), "1>0:2-2;");
}

TEST(SideBySide, GivesEachAnEqualShareOfEveryBlock) {
    const Schedule coarse({.ranks = 2, .chunks = 2, .steps = 1}, [](int, Step& out) {
        out.copy({.chunks = {0, 2}, .from = {0}, .to = {1}});
    });
    const Schedule fine({.ranks = 2, .chunks = 4, .steps = 2}, [](int step, Step& out) {
        out.copy({.chunks = {1 + step, 1}, .from = {1}, .to = {0}});
    });
    const Schedule both = side_by_side({coarse, fine}, /*blocks=*/2);
    EXPECT_EQ(both.chunks(), 8);  // in each of two blocks, two for each share
    EXPECT_EQ(brief(both), "0>1:0-1 0>1:4-5 1>0:3-3;1>0:6-6;");
}

TEST(Json, HasAListOfTransfersForEachStep) {
    const Schedule schedule({.ranks = 3, .chunks = 4, .steps = 2}, [](int step, Step& out) {
        if (step == 1) return;
        out.copy({.chunks = {0, 2}, .from = {1}, .to = {2}});
        out.reduce({.chunks = {3, 1}, .from = {2}, .to = {0}});
    });
    EXPECT_EQ(to_json(schedule),
              R"({"ranks":3,"chunks":4,"steps":[[)"
              R"({"from":1,"to":2,"first_chunk":0,"chunks":2,"action":"copy"},)"
              R"({"from":2,"to":0,"first_chunk":3,"chunks":1,"action":"reduce"}],[]]})");
}

}  // namespace
}  // namespace tutti
