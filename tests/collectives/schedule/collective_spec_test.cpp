// SPDX-License-Identifier: Apache-2.0
// The blocks of each rank before and after each collective, as MPI defines them: every proof uses
// this.
#include "collectives/schedule/collective_spec.hpp"

#include <gtest/gtest.h>

namespace tutti {
namespace {

constexpr int ranks = 3;
constexpr Rank root{1};

// Returns for each rank a letter for each block: x if it has (its share of) the block, else a dot.
std::string before(Collective collective) {
    const CollectiveSpec spec{collective, ranks, root};
    std::string text;
    for (int rank = 0; rank < ranks; ++rank, text += ' ')
        for (std::int64_t block = 0; block < spec.blocks(); ++block)
            text += spec.starts_with(Rank{rank}, block) ? 'x' : '.';
    return text;
}

std::string after(Collective collective) {
    const CollectiveSpec spec{collective, ranks, root};
    std::string text;
    for (int rank = 0; rank < ranks; ++rank, text += ' ')
        for (std::int64_t block = 0; block < spec.blocks(); ++block)
            text += spec.ends_with(Rank{rank}, block) ? 'x' : '.';
    return text;
}

TEST(CollectiveSpec, SaysWhoHasWhatBefore) {
    EXPECT_EQ(before(Collective::all_reduce), "x x x ");
    EXPECT_EQ(before(Collective::reduce), "x x x ");
    EXPECT_EQ(before(Collective::reduce_scatter), "xxx xxx xxx ");
    EXPECT_EQ(before(Collective::broadcast), ". x . ");
    EXPECT_EQ(before(Collective::scatter), "... xxx ... ");
    EXPECT_EQ(before(Collective::all_gather), "x.. .x. ..x ");
    EXPECT_EQ(before(Collective::gather), "x.. .x. ..x ");
    // Block 3 i + j goes from rank i to rank j.
    EXPECT_EQ(before(Collective::all_to_all), "xxx...... ...xxx... ......xxx ");
    EXPECT_EQ(before(Collective::barrier), "x x x ");
    EXPECT_EQ(before(Collective::scan), "x x x ");
    EXPECT_EQ(before(Collective::exscan), "x x x ");
}

TEST(CollectiveSpec, SaysWhoHasWhatAfter) {
    EXPECT_EQ(after(Collective::all_reduce), "x x x ");
    EXPECT_EQ(after(Collective::reduce), ". x . ");
    EXPECT_EQ(after(Collective::reduce_scatter), "x.. .x. ..x ");
    EXPECT_EQ(after(Collective::broadcast), "x x x ");
    EXPECT_EQ(after(Collective::scatter), "x.. .x. ..x ");
    EXPECT_EQ(after(Collective::all_gather), "xxx xxx xxx ");
    EXPECT_EQ(after(Collective::gather), "... xxx ... ");
    EXPECT_EQ(after(Collective::all_to_all), "x..x..x.. .x..x..x. ..x..x..x ");
    EXPECT_EQ(after(Collective::barrier), "x x x ");
    EXPECT_EQ(after(Collective::scan), "x x x ");
    EXPECT_EQ(after(Collective::exscan), ". x x ");
}

TEST(CollectiveSpec, SaysWhoseDataABlockIs) {
    const auto sources = [](Collective collective) {
        const CollectiveSpec spec{collective, ranks, root};
        std::string text;
        for (std::int64_t block = 0; block < spec.blocks(); ++block)
            text += std::to_string(spec.source_of(block).index);
        return text;
    };
    EXPECT_EQ(sources(Collective::broadcast), "1");
    EXPECT_EQ(sources(Collective::scatter), "111");
    EXPECT_EQ(sources(Collective::all_gather), "012");
    EXPECT_EQ(sources(Collective::gather), "012");
    EXPECT_EQ(sources(Collective::all_to_all), "000111222");
}

TEST(CollectiveSpec, SaysHowManyRanksAResultIsMadeOf) {
    const auto summands = [](Collective collective) {
        const CollectiveSpec spec{collective, ranks, root};
        std::string text;
        for (int rank = 0; rank < ranks; ++rank) text += std::to_string(spec.summands(Rank{rank}));
        return text;
    };
    EXPECT_EQ(summands(Collective::all_reduce), "333");
    EXPECT_EQ(summands(Collective::barrier), "333");
    EXPECT_EQ(summands(Collective::scan), "123");
    EXPECT_EQ(summands(Collective::exscan), "012");
}

// A rank's buffers hold its blocks consecutively. A barrier's token is in none.
TEST(CollectiveSpec, CountsAndPlacesTheBlocksOfARanksBuffers) {
    for (const Collective collective : all_collectives())
        for (int rank = 0; rank < ranks; ++rank) {
            const CollectiveSpec spec{collective, ranks, root};
            std::int64_t inputs = 0, outputs = 0;
            for (std::int64_t block = 0; block < spec.blocks() && !spec.is_token(); ++block) {
                if (spec.starts_with(Rank{rank}, block)) {
                    EXPECT_EQ(spec.place_in_input(Rank{rank}, block), inputs++);
                }
                if (spec.ends_with(Rank{rank}, block)) {
                    EXPECT_EQ(spec.place_in_output(Rank{rank}, block), outputs);
                    EXPECT_EQ(spec.block_in_output(Rank{rank}, outputs++), block);
                }
            }
            EXPECT_EQ(spec.input_blocks(Rank{rank}), inputs) << name_of(collective);
            EXPECT_EQ(spec.output_blocks(Rank{rank}), outputs) << name_of(collective);
        }
}

}  // namespace
}  // namespace tutti
