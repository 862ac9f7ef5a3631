// SPDX-License-Identifier: Apache-2.0
#include "collectives/schedule/compose.hpp"

#include <gtest/gtest.h>

#include "base/error.hpp"
#include "collectives/schedule/print.hpp"

namespace tutti {
namespace {

Schedule one_copy(int chunks) {
    return Schedule({.ranks = 2, .chunks = chunks, .steps = 1}, [=](int, Step& step) {
        step.copy({.chunks = {0, chunks}, .from = {0}, .to = {1}});
    });
}

TEST(Then, CutsChunksFinerWhereTheTwoDiffer) {
    const Schedule both = one_copy(2).then(one_copy(3));
    EXPECT_EQ(both.chunks(), 6);
    EXPECT_EQ(in_words(both),
              "step 0\n  rank 0 -> rank 1  chunks 0..5 (copy)\n"
              "step 1\n  rank 0 -> rank 1  chunks 0..5 (copy)\n");
}

TEST(Pipelined, StartsEachSegmentOneStepAfterTheOneBeforeIt) {
    const Schedule chain({.ranks = 3, .chunks = 1, .steps = 2}, [](int step, Step& out) {
        out.copy({.chunks = {}, .from = {step}, .to = {step + 1}});
    });
    EXPECT_EQ(in_words(pipelined(chain, 2)),
              "step 0\n  rank 0 -> rank 1  chunk 0 (copy)\n"
              "step 1\n  rank 1 -> rank 2  chunk 0 (copy)\n  rank 0 -> rank 1  chunk 1 (copy)\n"
              "step 2\n  rank 1 -> rank 2  chunk 1 (copy)\n");
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
    EXPECT_EQ(in_words(mirrored(chain, Action::reduce)),
              "step 0\n  rank 2 -> rank 1  chunk 0 (reduce)\n"
              "step 1\n  rank 1 -> rank 0  chunk 0 (reduce)\n");
}

// Rank 1 of an all-gather gets everything but its own chunks, which lie in the middle.
TEST(WithoutReturns, LeavesOutWhatTheReceiverStartsWith) {
    const Schedule everything({.ranks = 3, .chunks = 6, .steps = 1}, [](int, Step& step) {
        for (const int to : {1, 2}) step.copy({.chunks = {0, 6}, .from = {0}, .to = {to}});
    });
    EXPECT_EQ(in_words(without_returns(everything, {Collective::all_gather, 3})),
              "step 0\n  rank 0 -> rank 1  chunks 0..1 (copy)\n"
              "  rank 0 -> rank 1  chunks 4..5 (copy)\n  rank 0 -> rank 2  chunks 0..3 (copy)\n");
    EXPECT_EQ(in_words(without_returns(everything, {Collective::broadcast, 3, Rank{1}})),
              "step 0\n  rank 0 -> rank 2  chunks 0..5 (copy)\n");
    EXPECT_EQ(in_words(without_returns(everything, {Collective::all_reduce, 3})),
              in_words(everything));
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
    EXPECT_EQ(in_words(groups), "step 0\n  rank 3 -> rank 0  chunk 0 (copy)\n");
}

TEST(Svg, HasALineForEachTransferAndIsClosed) {
    const std::string svg = as_svg(one_copy(2), "one copy");
    EXPECT_NE(svg.find("marker-end=\"url(#copy)\""), std::string::npos);
    EXPECT_NE(svg.find(">0-1</text>"), std::string::npos);
    EXPECT_EQ(svg.substr(svg.size() - 7), "</svg>\n");
}

}  // namespace
}  // namespace tutti
