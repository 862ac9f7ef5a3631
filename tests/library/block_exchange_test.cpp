// SPDX-License-Identifier: Apache-2.0
#include "library/block_exchange.hpp"

#include <gtest/gtest.h>

#include <optional>

#include "library/mpi/lengths.hpp"

namespace tutti {
namespace {

using Lengths = std::vector<std::int64_t>;

// The lengths that a rank tells, and those that it expects, if any.
struct Told {
    Lengths own;
    std::optional<Lengths> expected = {};
};

Lengths agreed(const std::vector<Told>& ranks) {
    std::vector<BlockExchange> exchanges(ranks.size());
    std::vector<std::byte> all;
    for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
        exchanges[rank].tell(ranks[rank].own);
        if (ranks[rank].expected) exchanges[rank].expect(*ranks[rank].expected);
        const auto sent = exchanges[rank].all_gather(1).buffers.input;
        all.insert(all.end(), sent.begin(), sent.end());
    }
    std::optional<Lengths> result;
    for (BlockExchange& one : exchanges) {
        std::ranges::copy(all,
                          one.all_gather(static_cast<int>(ranks.size())).buffers.output.begin());
        const auto lengths = one.agreed();
        const Lengths mine(lengths.begin(), lengths.end());
        EXPECT_TRUE(!result || *result == mine);
        result = mine;
    }
    return *result;
}

const Lengths none;

TEST(BlockExchange, TellsAllRanksTheLengthsThatTheRootExpects) {
    EXPECT_EQ(agreed({{{5}}, {{0}, Lengths{5, 0, 7}}, {{7}}}), (Lengths{5, 0, 7}));
}

TEST(BlockExchange, TellsAllRanksTheWholeMatrix) {
    EXPECT_EQ(agreed({{{1, 2}, Lengths{1, 3}}, {{3, 0}, Lengths{2, 0}}}), (Lengths{1, 2, 3, 0}));
}

TEST(BlockExchange, FindsLengthsThatDifferFromWhatARankExpects) {
    EXPECT_EQ(agreed({{{5}}, {{0}, Lengths{5, 0, 8}}, {{7}}}), none);
    EXPECT_EQ(agreed({{{5}}, {{0}, Lengths{0, 5, 7}}, {{7}}}), none);
    EXPECT_EQ(agreed({{{1, 2}, Lengths{1, 3}}, {{3, 0}, Lengths{3, 0}}}), none);
    EXPECT_EQ(agreed({{{0}, Lengths{0, 1}}, {{0}}}), none);
}

TEST(BlockExchange, LeavesInvalidLengthsToTheLibrary) {
    const Lengths invalid{5, invalid_length};
    EXPECT_EQ(agreed({{{5}, invalid}, {{invalid_length}}}), none);
    EXPECT_EQ(agreed({{{5}, invalid}, {{5}}}), none);
}

TEST(BlockExchange, IsForBlocksThatFitIfEachIsTheLongest) {
    EXPECT_TRUE(is_for_tutti(std::int64_t{1} << 20, 1024));
    EXPECT_FALSE(is_for_tutti(std::int64_t{1} << 20, 1025));
    EXPECT_FALSE(is_for_tutti(0, 2));
}

}  // namespace
}  // namespace tutti
