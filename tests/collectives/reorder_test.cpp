// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "collectives/schedule/compose.hpp"
#include "collectives/schedule/print.hpp"

namespace tutti {
namespace {

// Position 0 sends its block to position 1.
Schedule first_sends_to_second() {
    return Schedule({.ranks = 3, .chunks = 3, .steps = 1}, [](int, Step& out) {
        out.copy({.chunks = {0, 1}, .from = {0}, .to = {1}});
    });
}

TEST(Reordered, MovesRanksAndTheirBlocksToPositions) {
    const std::vector<Rank> order{{2}, {0}, {1}};
    EXPECT_EQ(in_words(reordered(first_sends_to_second(), order, Collective::all_gather)),
              "step 0\n  rank 2 -> rank 0  chunk 2 (copy)\n");
}

TEST(Reordered, LeavesAMessageThatIsNobodysAsItIs) {
    const std::vector<Rank> order{{2}, {0}, {1}};
    EXPECT_EQ(in_words(reordered(first_sends_to_second(), order, Collective::all_reduce)),
              "step 0\n  rank 2 -> rank 0  chunk 0 (copy)\n");
}

TEST(Reordered, SplitsARunOnlyWhereItsBlocksComeApart) {
    const Schedule all({.ranks = 3, .chunks = 6, .steps = 1}, [](int, Step& out) {
        out.copy({.chunks = {1, 5}, .from = {0}, .to = {1}});  // half of block 0, blocks 1 and 2
    });
    EXPECT_EQ(in_words(reordered(all, {{2}, {0}, {1}}, Collective::all_gather)),
              "step 0\n  rank 2 -> rank 0  chunk 5 (copy)\n  rank 2 -> rank 0  chunks 0..3 "
              "(copy)\n");
}

TEST(Reordered, MovesBothEndsOfABlockOfAPair) {
    const Schedule one({.ranks = 2, .chunks = 4, .steps = 1}, [](int, Step& out) {
        out.copy({.chunks = {0 * 2 + 1, 1}, .from = {0}, .to = {1}});
    });
    EXPECT_EQ(in_words(reordered(one, {{1}, {0}}, Collective::all_to_all)),
              "step 0\n  rank 1 -> rank 0  chunk 2 (copy)\n");
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
    EXPECT_EQ(in_words(both),
              "step 0\n  rank 0 -> rank 1  chunks 0..1 (copy)\n  rank 0 -> rank 1  chunks 4..5 "
              "(copy)\n  rank 1 -> rank 0  chunk 3 (copy)\n"
              "step 1\n  rank 1 -> rank 0  chunk 6 (copy)\n");
}

}  // namespace
}  // namespace tutti
