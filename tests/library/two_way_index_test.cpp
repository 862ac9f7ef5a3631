// SPDX-License-Identifier: Apache-2.0
#include "library/two_way_index.hpp"

#include <gtest/gtest.h>

namespace tutti {
namespace {

// Hashes with the same highest bits share two places.
constexpr std::uint64_t first = 1, second = 2, third = 3, elsewhere = std::uint64_t{1} << 63;

TEST(TwoWayIndex, KeepsTwoHashesThatShareTheirPlaces) {
    TwoWayIndex<4> index;
    const std::size_t of_first = index.take(first), of_second = index.take(second);
    EXPECT_NE(of_first, of_second);
    for (int turn = 0; turn < 3; ++turn) {
        EXPECT_EQ(index.take(first), of_first);
        EXPECT_EQ(index.take(second), of_second);
    }
    EXPECT_EQ(index.likely(first), of_first);
    EXPECT_EQ(index.likely(second), of_second);
}

TEST(TwoWayIndex, ReplacesTheOneThatCameFirst) {
    TwoWayIndex<4> index;
    const std::size_t of_first = index.take(first);
    index.take(second);
    index.take(first);  // a look-up changes nothing
    EXPECT_EQ(index.take(third), of_first);
    EXPECT_FALSE(index.has(first));
    EXPECT_TRUE(index.has(second));
}

TEST(TwoWayIndex, HasOtherPlacesForOtherHashes) {
    TwoWayIndex<4> index;
    index.take(first);
    index.take(second);
    EXPECT_FALSE(index.has(elsewhere));
    EXPECT_LT(index.take(elsewhere), index.places);
    EXPECT_TRUE(index.has(first) && index.has(second));
}

// In a repeated sequence, each place has one successor.
TEST(NextPlace, PredictsWhatFollowedLastTime) {
    NextPlace<8> next;
    const std::size_t sequence[] = {5, 2, 7};
    for (const std::size_t place : sequence) next.note(place);
    next.note(5);
    EXPECT_EQ(next.predicted(), 2U);
    next.note(2);
    EXPECT_EQ(next.predicted(), 7U);
    next.note(1);  // instead of 7
    next.note(2);
    EXPECT_EQ(next.predicted(), 1U);
}

TEST(NextPlace, IsConfidentOnlyInRepeatedSequences) {
    NextPlace<8> next;
    EXPECT_FALSE(next.is_confident());
    for (int turn = 0; turn < 5; ++turn)
        for (const std::size_t place : {5U, 2U, 7U}) next.note(place);
    EXPECT_TRUE(next.is_confident());
    next.note(2);  // instead of 5
    EXPECT_FALSE(next.is_confident());
    for (const std::size_t place : {1U, 6U, 3U, 1U, 3U, 6U, 1U, 5U, 4U, 6U}) next.note(place);
    EXPECT_FALSE(next.is_confident());
}

}  // namespace
}  // namespace tutti
