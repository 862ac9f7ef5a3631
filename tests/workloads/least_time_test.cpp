// SPDX-License-Identifier: Apache-2.0
#include "workloads/limits/least_time.hpp"

#include <gtest/gtest.h>

#include "tests/results/samples.hpp"

namespace tutti {
namespace {

constexpr double one_way = 40, yield = 1000;  // values of sample_limits
constexpr double copying = 80, adding = 72;   // GB/s of each of two cores, in cache
constexpr double staged = 10, single_copy = 5, single_copy_call = 1500;

// Bytes as Call counts them: of the vector or of one block.
double least(Collective collective, std::int64_t bytes, Reach reach = Reach::registered,
             bool in_place = false, int ranks = 2) {
    const Call call{.collective = collective, .type = DataType::int8, .count = bytes};
    return least_time(sample_limits(), call, ranks, in_place, reach);
}

// Without staging and single copies: what is left for registered memory is direct access.
double direct(Collective collective, double bytes, bool in_place = false, int ranks = 2) {
    Limits limits = sample_limits();
    limits.staged.gbps = {1e-3, 1e-3};
    limits.single_copy.gbps = {1e-3};
    const Call call{.collective = collective,
                    .type = DataType::int8,
                    .count = static_cast<std::int64_t>(bytes)};
    return least_time(limits, call, ranks, in_place, Reach::registered);
}

constexpr std::int64_t K = 1024;

}  // namespace

TEST(LeastTime, OfWhatFitsALineIsOneHandOver) {
    for (const Reach reach : {Reach::registered, Reach::unregistered}) {
        EXPECT_DOUBLE_EQ(least(Collective::all_reduce, 8, reach), one_way);
        EXPECT_DOUBLE_EQ(least(Collective::all_to_all, 56, reach), one_way);
        EXPECT_DOUBLE_EQ(least(Collective::broadcast, 8, reach), one_way);
        EXPECT_DOUBLE_EQ(least(Collective::gather, 8, reach), one_way);
        EXPECT_GT(least(Collective::all_reduce, 57, reach), one_way);
    }
}

// Each input byte is read once and each result byte written once, by two cores that share the work.
// The last of two ranks works alone for one signal, so half of that is lost; a root is waited for.
TEST(LeastTime, OfRegisteredMemoryIsHandOversAndTheBytes) {
    const double n = 64 * K;
    EXPECT_DOUBLE_EQ(direct(Collective::all_reduce, n),
                     1.5 * one_way + (2 * n + 2 * n) / 2 / adding);
    EXPECT_DOUBLE_EQ(direct(Collective::reduce_scatter, n),
                     1.5 * one_way + (4 * n + 2 * n) / 2 / adding);
    EXPECT_DOUBLE_EQ(direct(Collective::all_gather, n),
                     1.5 * one_way + (2 * n + 4 * n) / 2 / copying);
    EXPECT_DOUBLE_EQ(direct(Collective::all_to_all, n),
                     1.5 * one_way + (4 * n + 4 * n) / 2 / copying);
    EXPECT_DOUBLE_EQ(direct(Collective::broadcast, n), one_way + (n + 2 * n) / 2 / copying);
    EXPECT_DOUBLE_EQ(direct(Collective::reduce, n), one_way + (2 * n + n) / 2 / adding);
    EXPECT_DOUBLE_EQ(direct(Collective::scatter, n), one_way + (2 * n + 2 * n) / 2 / copying);
    EXPECT_DOUBLE_EQ(direct(Collective::gather, n), one_way + (2 * n + 2 * n) / 2 / copying);
}

TEST(LeastTime, OfLittleRegisteredMemoryIsThatOfTheLastArrivalOnly) {
    const double n = 256;  // done before the other rank could know
    EXPECT_DOUBLE_EQ(direct(Collective::all_reduce, n), one_way + (2 * n + 2 * n) / adding);
}

TEST(LeastTime, InPlaceLeavesWhatIsMovedToItselfWhereItIs) {
    const double n = 64 * K;
    EXPECT_DOUBLE_EQ(direct(Collective::all_gather, n, true),
                     1.5 * one_way + (2 * n + 2 * n) / 2 / copying);
    EXPECT_DOUBLE_EQ(direct(Collective::all_to_all, n, true),
                     1.5 * one_way + (2 * n + 2 * n) / 2 / copying);
    EXPECT_DOUBLE_EQ(direct(Collective::broadcast, n, true), one_way + (n + n) / 2 / copying);
    EXPECT_DOUBLE_EQ(direct(Collective::scatter, n, true), one_way + (n + n) / 2 / copying);
    EXPECT_DOUBLE_EQ(direct(Collective::all_reduce, n, true),
                     direct(Collective::all_reduce, n, false));  // adds and stores as much
}

TEST(LeastTime, TakesTheBandwidthAtWhatEachCoreTouches) {
    const double n = 4 << 20;
    EXPECT_DOUBLE_EQ(direct(Collective::all_reduce, n), 1.5 * one_way + 2 * n / (adding / 2));
    // In place each core touches half of it; streaming stores are the better ones for copies.
    EXPECT_DOUBLE_EQ(direct(Collective::all_reduce, 512 * K, true),
                     1.5 * one_way + 2.0 * 512 * K / adding);
    EXPECT_DOUBLE_EQ(direct(Collective::all_gather, n), 1.5 * one_way + 3 * n / 50);
}

// A rank that adds fetches the other's data at the rate of a pass over such lines; data that is
// only moved is stored by its owner.
TEST(LeastTime, OfRewrittenInputHasTheFetchingInIt) {
    Limits limits = sample_limits();
    limits.staged.gbps = {1e-3, 1e-3};
    limits.single_copy.gbps = {1e-3};
    const auto rewritten = [&](Collective collective, double bytes, int ranks = 2) {
        const Call call{.collective = collective,
                        .type = DataType::int8,
                        .count = static_cast<std::int64_t>(bytes)};
        return least_time(limits, call, ranks, false, Reach::registered, InputState::rewritten);
    };
    const double n = 2 * K;  // 4 KiB a core
    constexpr double to_all = 24, to_one = 18;
    EXPECT_DOUBLE_EQ(rewritten(Collective::all_reduce, n),
                     1.5 * one_way + (2 * n + 2 * n) / 2 / to_all);
    EXPECT_DOUBLE_EQ(rewritten(Collective::reduce, n), one_way + (2 * n + n) / 2 / to_one);
    EXPECT_DOUBLE_EQ(rewritten(Collective::all_gather, n), direct(Collective::all_gather, n));
    EXPECT_DOUBLE_EQ(rewritten(Collective::all_reduce, n, 1), 2 * n / 90);  // nothing to fetch
    std::erase_if(limits.curves,
                  [](const Curve& curve) { return curve.pass.ends_with("rewritten"); });
    EXPECT_FALSE(know_rewritten_input(limits));
    EXPECT_DOUBLE_EQ(rewritten(Collective::all_reduce, n), direct(Collective::all_reduce, n));
}

TEST(LeastTime, OfOrdinaryMemoryIsTheBetterOfStagingAndSingleCopies) {
    const double n = 16 * K;
    EXPECT_DOUBLE_EQ(least(Collective::all_reduce, 16 * K, Reach::unregistered),
                     one_way + n / staged);
    EXPECT_DOUBLE_EQ(least(Collective::broadcast, 16 * K, Reach::unregistered),
                     one_way + n / 2 / staged);
    Limits limits = sample_limits();
    limits.staged.gbps = {1e-3, 1e-3};
    const Call call{.collective = Collective::all_gather, .type = DataType::int8, .count = 16 * K};
    EXPECT_DOUBLE_EQ(least_time(limits, call, 2, false, Reach::unregistered),
                     one_way + single_copy_call + n / single_copy);
}

// The root and its peers divide the copies among them.
TEST(LeastTime, OfSingleCopiesIsSharedByBothEnds) {
    Limits limits = sample_limits();
    limits.staged.gbps = {1e-3, 1e-3};
    const double n = 16 * K;
    const auto least_of = [&](Collective collective, int ranks = 2) {
        const Call call{.collective = collective, .type = DataType::int8, .count = 16 * K};
        return least_time(limits, call, ranks, true, Reach::unregistered);
    };
    const double call = one_way + single_copy_call;
    using enum Collective;
    for (const Collective collective : {broadcast, scatter, gather, reduce, scan})
        EXPECT_DOUBLE_EQ(least_of(collective), call + n / 2 / single_copy);
    EXPECT_DOUBLE_EQ(least_of(gather, 4), call + yield + 3 * n / 2 / single_copy);
}

TEST(LeastTime, OfRegisteredMemoryIsNeverMoreThanOfOrdinary) {
    for (const Collective collective : all_collectives())
        for (const int ranks : {1, 2, 3, 8, 33})
            for (const bool in_place : {false, true})
                for (std::int64_t bytes = 1; bytes <= 1 << 28; bytes *= 4) {
                    const double registered =
                        least(collective, bytes, Reach::registered, in_place, ranks);
                    EXPECT_LE(registered,
                              least(collective, bytes, Reach::unregistered, in_place, ranks));
                    EXPECT_GE(registered, 0);
                }
}

TEST(LeastTime, GrowsWithTheMessage) {
    for (const Collective collective : all_collectives())
        for (const Reach reach : {Reach::registered, Reach::unregistered})
            for (std::int64_t bytes = 1; bytes < 1 << 28; bytes *= 2)
                EXPECT_LE(least(collective, bytes, reach), least(collective, 2 * bytes, reach))
                    << name_of(collective) << " " << bytes;
}

TEST(LeastTime, OfNothingIsNothing) {
    EXPECT_EQ(least(Collective::all_reduce, 0), 0);
    EXPECT_EQ(least(Collective::all_reduce, 4096, Reach::registered, true, 1), 0);
    EXPECT_DOUBLE_EQ(least(Collective::all_reduce, 64 * K, Reach::registered, false, 1),
                     2.0 * 64 * K / 90);  // one core alone copies it: no meeting
}

TEST(LeastTime, OfMoreRanksThanCoresHasContextSwitchesInIt) {
    EXPECT_DOUBLE_EQ(least(Collective::all_reduce, 8, Reach::registered, false, 4),
                     one_way + yield);
    EXPECT_DOUBLE_EQ(least(Collective::all_reduce, 8, Reach::registered, false, 5),
                     one_way + 2 * yield);
}

// Two of four cores have no more than one has alone, twice; nor more than all four together.
TEST(LeastTime, OfFewerRanksThanCoresIsThatOfOneCore) {
    Limits limits = sample_limits();
    limits.cores = 4;
    for (Curve& curve : limits.curves)
        if (curve.cores == 2) curve.cores = 4;
    limits.staged.gbps = {1e-3, 1e-3};
    limits.single_copy.gbps = {1e-3};
    const Call call{.collective = Collective::all_gather, .type = DataType::int8, .count = 64 * K};
    EXPECT_DOUBLE_EQ(least_time(limits, call, 2, false, Reach::registered),
                     1.5 * one_way + 3.0 * 64 * K / 100);
}

}  // namespace tutti
