// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "autotune/table/usable.hpp"
#include "table_samples.hpp"

namespace tutti {
namespace {

using test::ours;
using test::seen_at;
using test::subject_of;
using test::two_ranks;

const Subject reduction = subject_of(Collective::all_reduce);
const Configuration good = ours("ring"), unknown = ours("of-tomorrow");

JobShape on(int ranks) { return {.ranks = ranks, .ranks_per_host = ranks}; }

Range range_of(std::int64_t from, const Configuration& choice,
               const std::optional<Configuration>& runner_up = {}) {
    Range range{.from = {from}, .choice = choice, .evidence = {seen_at(from + 8, 1)}};
    range.evidence[0].runner_up = runner_up;
    return range;
}

Section section_of(std::vector<Range> ranges) {
    return {.job_shape = two_ranks, .subject = reduction, .ranges = std::move(ranges)};
}

TEST(UnusableChoice, IsNoneOfThisBuild) {
    EXPECT_EQ(unusable(good, reduction, two_ranks), std::nullopt);
    EXPECT_NE(unusable(unknown, reduction, two_ranks)->find("of-tomorrow"), std::string::npos);
    EXPECT_NE(unusable(ours("ring", "pigeons"), reduction, two_ranks)->find("pigeons"),
              std::string::npos);
    EXPECT_NE(unusable({.impl = "scroll"}, reduction, two_ranks)->find("scroll"),
              std::string::npos);
    EXPECT_TRUE(unusable(ours("halving-doubling"), subject_of(Collective::scatter), two_ranks))
        << "it is known, but not of scatter";
}

TEST(UnusableChoice, RefusesTheRanks) {
    // Blocks change hands between pairs of ever further ranks, so the ranks must be a power of two.
    const Configuration butterfly = ours("butterfly");
    const Subject exchange = subject_of(Collective::all_to_all);
    EXPECT_EQ(unusable(butterfly, exchange, on(8)), std::nullopt);
    EXPECT_TRUE(unusable(butterfly, exchange, on(6)));
}

TEST(UnusableChoice, IsReportedWithRangeReasonAndReplacement) {
    const Table table{.sections = {section_of({range_of(0, good), range_of(64, unknown, good)})}};
    const std::vector<UnusableChoice> found = unusable(table);
    ASSERT_EQ(found.size(), 1u);
    EXPECT_EQ(found[0].from, Bytes{64});
    EXPECT_EQ(found[0].subject, reduction);
    EXPECT_EQ(found[0].choice, unknown);
    EXPECT_EQ(found[0].instead, good);
    EXPECT_FALSE(found[0].reason.empty());
}

TEST(UnusableChoice, GivesWayToItsRunnerUp) {
    const Table table = usable({.sections = {section_of({range_of(0, unknown, good)})}});
    const Range& range = table.sections.at(0).ranges.at(0);
    EXPECT_EQ(range.choice, good);
    EXPECT_EQ(range.origin, Origin::interpolated);
    EXPECT_TRUE(range.evidence.empty()) << "it was for another choice";
}

TEST(UnusableChoice, GivesWayToTheLibraryWhereTheRunnerUpCannotBeUsedEither) {
    const Section section = section_of({range_of(0, unknown, ours("of-next-year"))});
    const std::optional<Configuration> library = fallback(section, section.ranges[0]);
    const bool there_is_one = !unusable({.impl = "mpi"}, reduction, two_ranks);
    EXPECT_EQ(library.has_value(), there_is_one);
    EXPECT_EQ(library.value_or(Configuration{.impl = "mpi"}), Configuration{.impl = "mpi"});
}

TEST(UnusableChoice, LeavesWhatCanBeUsedAsItIs) {
    const Table table{.sections = {section_of({range_of(0, good), range_of(64, ours("tree"))})}};
    EXPECT_EQ(usable(table), table);
}

TEST(UnusableChoice, IsCoveredFromZeroOnWhateverIsLeft) {
    for (unsigned seed = 0; seed < 20; ++seed)
        for (const Section& section : usable(test::RandomTables(seed).table(4)).sections) {
            ASSERT_FALSE(section.ranges.empty());
            EXPECT_EQ(section.ranges[0].from, Bytes{0});
            for (const Range& range : section.ranges)
                EXPECT_EQ(unusable(range.choice, section.subject, section.job_shape), std::nullopt);
        }
}

}  // namespace
}  // namespace tutti
