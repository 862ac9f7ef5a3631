// SPDX-License-Identifier: Apache-2.0
#include "library/mpi/block_sizes.hpp"

#include <gtest/gtest.h>

namespace tutti {
namespace {

TEST(BlockSizes, GiveEqualBlocksSlotsOfTheirOwnSize) {
    EXPECT_EQ(slot_for({5, 5}, 3), 5U);
    EXPECT_EQ(slot_for({1 << 20, 1 << 20}, 1024), std::size_t{1} << 20);
    EXPECT_EQ(slot_for({1 << 20, 1 << 20}, 1025), std::nullopt);
}

TEST(BlockSizes, GiveDifferentBlocksSlotsOfAPowerOfTwo) {
    EXPECT_EQ(slot_for({0, 1}, 2), 1U);
    EXPECT_EQ(slot_for({4, 5}, 3), 8U);
    EXPECT_EQ(slot_for({8191, 8192}, 8), 8192U);
    EXPECT_EQ(slot_for({8192, 8193}, 8), std::nullopt);
    EXPECT_EQ(slot_for({1, 16'384}, 3), 16'384U);
    EXPECT_EQ(slot_for({1, 16'385}, 3), std::nullopt);  // 3 slots of 32 KiB
}

TEST(BlockSizes, LeaveTheRestToTheLibrary) {
    EXPECT_EQ(slot_for({0, 0}, 2), std::nullopt);
    EXPECT_EQ(slot_for({}, 2), std::nullopt);
    EXPECT_EQ(slot_for(BlockSizes::for_the_library(), 2), std::nullopt);
    BlockSizes one = BlockSizes::for_the_library();
    EXPECT_EQ(slot_for(one.with({4, 4}), 2), std::nullopt);
}

TEST(BlockSizes, AreAgreedOnUnlessTheLibraryIsEager) {
    EXPECT_FALSE(pays_once_agreed({4095, 4095}));
    EXPECT_TRUE(pays_once_agreed({4096, 4096}));
    EXPECT_FALSE(pays_once_agreed({1, 4096}));
    EXPECT_TRUE(pays_once_agreed({1, 4097}));
}

}  // namespace
}  // namespace tutti
