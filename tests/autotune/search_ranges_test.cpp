// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "autotune/search/ranges.hpp"

namespace tutti {
namespace {

Finding found(std::int64_t size, std::vector<Evidence> entries) {
    return {.size = Bytes{size},
            .winner = entries.front().arm,
            .measured = true,
            .doubt = 0,
            .entries = std::move(entries)};
}

TEST(Ranges, MeetAtTheGeometricMean) {
    const std::vector<Finding> findings = {found(100, {{0, {10}}, {1, {20}}}),
                                           found(400, {{1, {10}}, {0, {20}}})};
    const FewerRanges compression = ranges_of(findings, 0.03);
    ASSERT_EQ(compression.ranges.size(), 2U);
    EXPECT_EQ(compression.ranges[0].from, Bytes{0});
    EXPECT_EQ(compression.ranges[0].arm, 0);
    EXPECT_EQ(compression.ranges[1].from, Bytes{200});  // sqrt(100 * 400)
    EXPECT_EQ(compression.ranges[1].arm, 1);
    EXPECT_EQ(compression.worst_penalty, 0);
}

TEST(Ranges, AreOneWhereThatCostsLessThanTheHysteresis) {
    const auto findings = [](double of_the_other) {
        return std::vector<Finding>{found(8, {{0, {100}}, {1, {150}}}),
                                    found(16, {{1, {100}}, {0, {of_the_other}}}),
                                    found(32, {{0, {100}}, {1, {150}}})};
    };
    const FewerRanges merged = ranges_of(findings(102), 0.03);
    ASSERT_EQ(merged.ranges.size(), 1U);
    EXPECT_EQ(merged.ranges[0].arm, 0);
    EXPECT_EQ(merged.ranges[0].first, 0U);
    EXPECT_EQ(merged.ranges[0].last, 2U);
    EXPECT_NEAR(merged.worst_penalty, 0.02, 1e-12);
    EXPECT_NEAR(merged.mean_penalty, 0.02 / 3, 1e-12);
    EXPECT_EQ(ranges_of(findings(104), 0.03).ranges.size(), 3U);
}

TEST(Ranges, BelieveTheSearchMoreThanFewSamples) {
    const auto findings = [](double ratio) {
        return std::vector<Finding>{found(8, {{0, {100}, 1.0}}),
                                    found(16, {{1, {100}, 1.0}, {0, {101}, ratio}})};
    };
    EXPECT_EQ(ranges_of(findings(1.10), 0.03).ranges.size(), 2U);
    EXPECT_EQ(ranges_of(findings(1.02), 0.03).ranges.size(), 1U);
}

TEST(Ranges, AreNotMergedThroughAnArmWithoutMeasurementsThere) {
    const std::vector<Finding> findings = {found(8, {{0, {100}}}), found(16, {{1, {100}}})};
    EXPECT_EQ(ranges_of(findings, 0.5).ranges.size(), 2U);
}

TEST(Ranges, GiveAnArmThatDidNotRaceThePenaltyOfTheNeighbouringSizes) {
    // Arm 0 costs 2 % at both sides of 16 B, where only arm 1 raced.
    const std::vector<Finding> findings = {
        found(4, {{0, {100}}, {1, {200}}}), found(8, {{1, {100}}, {0, {102}}}),
        found(16, {{1, {100}}}), found(32, {{1, {100}}, {0, {102}}})};
    const FewerRanges compression = ranges_of(findings, 0.03);
    ASSERT_EQ(compression.ranges.size(), 1U);
    EXPECT_EQ(compression.ranges[0].arm, 0);
    EXPECT_NEAR(compression.worst_penalty, 0.02, 1e-12);
}

TEST(Ranges, TakeTheCheapestOfEquallyMany) {
    // At 16 B either neighbour's arm will do; arm 1 is the better one.
    const std::vector<Finding> findings = {found(8, {{0, {100}}, {1, {200}}}),
                                           found(16, {{2, {100}}, {1, {101}}, {0, {102}}}),
                                           found(32, {{1, {100}}, {0, {200}}})};
    const FewerRanges compression = ranges_of(findings, 0.03);
    ASSERT_EQ(compression.ranges.size(), 2U);
    EXPECT_EQ(compression.ranges[1].first, 1U);
    EXPECT_EQ(compression.ranges[1].arm, 1);
}

TEST(Ranges, PassOverSizesWhereNothingCanRun) {
    const std::vector<Finding> findings = {Finding{.size = Bytes{4}}, found(8, {{3, {1}}}),
                                           Finding{.size = Bytes{16}}, found(32, {{3, {1}}})};
    const FewerRanges compression = ranges_of(findings, 0.03);
    ASSERT_EQ(compression.ranges.size(), 1U);
    EXPECT_EQ(compression.ranges[0].arm, 3);
    EXPECT_EQ(compression.ranges[0].from, Bytes{0});
    EXPECT_TRUE(ranges_of(std::vector<Finding>{Finding{.size = Bytes{4}}}, 0.03).ranges.empty());
}

}  // namespace
}  // namespace tutti
