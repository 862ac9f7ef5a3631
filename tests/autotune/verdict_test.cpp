// SPDX-License-Identifier: Apache-2.0
#include "autotune/table/verdict.hpp"

#include <gtest/gtest.h>

namespace tutti {
namespace {

const Configuration tree{.algorithm = "tree", .transport = "shm"};
const Configuration ring{.algorithm = "ring", .transport = "shm"};

Verdict verdict(const Configuration& choice, std::int64_t bytes, double time_ns = 100) {
    return {.choice = choice, .evidence = {.size = {bytes}, .time = {time_ns, 90, 110, 20}}};
}

TEST(Verdict, NeighboursOfOneChoiceAreARange) {
    const auto ranges = ranges_of({verdict(tree, 8), verdict(tree, 16), verdict(ring, 1024)});
    ASSERT_EQ(ranges.size(), 2u);
    EXPECT_EQ(ranges[0].from, Bytes{0});
    EXPECT_EQ(ranges[0].choice, tree);
    EXPECT_EQ(ranges[0].evidence.size(), 2u);
    EXPECT_EQ(ranges[1].from, Bytes{128});  // sqrt(16 * 1024)
    EXPECT_EQ(ranges[1].choice, ring);
}

TEST(Verdict, ASizeThatNothingWasMeasuredAtLeavesNoEvidence) {
    const auto ranges = ranges_of({verdict(tree, 8), {.choice = tree, .evidence = {.size = {16}}}});
    ASSERT_EQ(ranges.size(), 1u);
    ASSERT_EQ(ranges[0].evidence.size(), 1u);
    EXPECT_EQ(ranges[0].evidence[0].size, Bytes{8});
}

TEST(Verdict, RangesBecomeTheVerdictsThatTheyWereMadeOf) {
    const std::vector<Verdict> before{verdict(tree, 8), verdict(ring, 16), verdict(ring, 32)};
    Section section;
    section.ranges = ranges_of(before);
    const std::vector<Bytes> sizes{{8}, {16}, {24}, {32}};
    const auto after = verdicts_of(section, sizes);
    ASSERT_EQ(after.size(), 4u);
    EXPECT_EQ(after[0].choice, tree);
    EXPECT_EQ(after[1].choice, ring);
    EXPECT_EQ(after[2].choice, ring);
    EXPECT_EQ(after[2].evidence, (RangeEvidence{.size = {24}}));  // none
    EXPECT_EQ(after[3].evidence, before[2].evidence);
}

HoldOut seen(double low, double high) {
    return {.library = "mpi",
            .choice = {100, 95, 105, 30},
            .default_ = {110, 100, 120, 30},
            .gain = 1.1,
            .gain_low = low,
            .gain_high = high};
}

TEST(Verdict, TheDefaultStaysUnlessItIsSlowerBeyondDoubt) {
    Verdict faster = verdict(ring, 8);
    faster.evidence.hold_out = seen(1.02, 1.2);
    let_default_stay(faster);
    EXPECT_EQ(faster.choice, ring);

    Verdict open = verdict(ring, 8);
    open.evidence.hold_out = seen(0.99, 1.2);
    let_default_stay(open);
    EXPECT_EQ(open.choice, Configuration{.impl = "mpi"});
    EXPECT_EQ(open.origin, Origin::kept);
    EXPECT_EQ(open.evidence.runner_up, ring);
    EXPECT_EQ(open.evidence.time.p50, 110);
}

}  // namespace
}  // namespace tutti
