// SPDX-License-Identifier: Apache-2.0
#include "results/comparison/floors.hpp"

#include <gtest/gtest.h>

#include "tests/base/messages.hpp"

namespace tutti {
namespace {

// 1 MiB in 100 us is 10.48576 GB/s; of 4 ranks an all-reduce moves 6/4 of that.
const std::vector<TimeOfCall> calls{
    {"all_reduce 1M float sum registered ring (shm), 4 ranks", 100'000, 4},
    {"all_reduce 1M float sum registered tree (shm), 4 ranks", 200'000, 4},
    {"all_reduce 8 float sum in place registered mpi, 4 ranks", 2'500, 4},
    {"broadcast 8 float root 0 registered tree (shm) -> ring (ucx), 4 ranks", 4'000, 4},
    {"gather 8 float root 0 registered tree (shm), 2 ranks -> ring (ucx), 4 ranks", 4'000, 4},
    {"scatter 8 float root 0 registered tree (shm)", 4'000, 4},  // older versions wrote no place
    {"all_to_all_v 1M next linear (shm)", 100'000, 4},
    {"all_to_all_v 1M skewed linear (shm)", 100'000, 4},
};

FloorRecord at_least(const std::string& typed) {
    return hold_against(std::vector{parse_floor(Floor::Side::at_least, typed)}, calls).front();
}

FloorRecord at_most(const std::string& typed) {
    return hold_against(std::vector{parse_floor(Floor::Side::at_most, typed)}, calls).front();
}

std::string refused(const std::string& typed) {
    return refusal_by([&] { at_least(typed); });
}

TEST(Floors, AreHeldAgainstBandwidths) {
    const FloorRecord met = at_least("all_reduce 1M ring shm busbw 15.7");
    EXPECT_TRUE(met.met);
    EXPECT_NEAR(met.value, 15.72864, 1e-9);
    EXPECT_EQ(met.asked, "all_reduce 1M ring shm busbw at least 15.7 GB/s");
    EXPECT_EQ(met.metrics, 1);
    EXPECT_FALSE(at_least("all_reduce 1M ring busbw 15.8").met);
    EXPECT_NEAR(at_least("all_reduce 1024K ring algbw 1 GB/s").value, 10.48576, 1e-9);
}

TEST(Floors, OfDifferentBlocksNameTheirRule) {
    EXPECT_NEAR(at_least("all_to_all_v 1M next busbw 1").value, 10.48576, 1e-9);
    EXPECT_NEAR(at_least("all_to_all_v 1M skewed busbw 1").value, 0.75 * 10.48576, 1e-9);
    EXPECT_FALSE(refused("all_to_all 1M busbw 1").empty());
}

TEST(Floors, TheWorstCounts) {
    const FloorRecord missed = at_least("all_reduce 1M busbw 10");
    EXPECT_FALSE(missed.met);
    EXPECT_EQ(missed.metrics, 2);
    EXPECT_EQ(missed.metric, calls[1].metric);
    EXPECT_EQ(at_most("all_reduce 1M p50 1ms").metric, calls[1].metric);
    EXPECT_EQ(at_most("all_reduce 1M algbw 20").metric, calls[0].metric);
}

TEST(Floors, AreHeldAgainstLatencies) {
    EXPECT_TRUE(at_most("all_reduce 8 p50 3us").met);
    EXPECT_TRUE(at_most("all_reduce 8 p50 2.5us").met);
    EXPECT_FALSE(at_most("all_reduce 8 p50 2us").met);
    EXPECT_FALSE(at_least("all_reduce 8 p50 3us").met);
}

TEST(Floors, AreAboutTheCandidateOfB) {
    EXPECT_EQ(at_most("broadcast 8 ring ucx p50 5us").metrics, 1);
    EXPECT_NE(refused("broadcast 8 tree p50 5us"), "");
    EXPECT_EQ(at_most("gather 8 ring 4 ranks p50 5us").metrics, 1);
    EXPECT_NE(refused("gather 8 tree p50 5us"), "");
    EXPECT_NE(refused("gather 8 2 p50 5us"), "");
    EXPECT_EQ(at_most("scatter 8 tree p50 5us").metrics, 1);
}

TEST(Floors, ThatAreAboutNothingSayWhatThereIs) {
    EXPECT_TRUE(holds(refused("all_reduce 2M busbw 1"), "1M float"));
    EXPECT_NE(refused("all_reduce 1M butterfly busbw 1"), "");
    EXPECT_TRUE(holds(refused("all_reduce busbw 1"), "is incomplete"));
    EXPECT_TRUE(holds(refused("all_reduce 1M speed 1"), "busbw algbw p50"));
    EXPECT_TRUE(holds(refused("all_reduce 1M busbw fast"), "number of GB/s"));
    EXPECT_TRUE(holds(refused("all_reduce 8 p50 3"), "has no unit"));
    EXPECT_TRUE(holds(refused("all_redcue 1M busbw 1"), "all_reduce"));
}

}  // namespace
}  // namespace tutti
