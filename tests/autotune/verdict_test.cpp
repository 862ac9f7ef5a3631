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

TEST(Verdict, ASizeWithoutMeasurementsLeavesNoEvidence) {
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

    Verdict forced = verdict({.impl = "mpi", .algorithm = "ring"}, 8);
    forced.evidence.hold_out = seen(0.99, 1.2);
    let_default_stay(forced);
    EXPECT_EQ(forced.choice, Configuration{.impl = "mpi"});
}

TEST(Verdict, AWrongChoiceIsNotTakenAtAnySize) {
    std::vector<Verdict> verdicts{verdict(ring, 8), verdict(tree, 16), verdict(ring, 1024)};
    verdicts[1].evidence.runner_up = ring;
    verdicts[1].evidence.runner_up_time = TimeInterval{120, 110, 130, 20};
    const Configuration library{.impl = "mpi"};
    replace_wrong(verdicts, ring, library);
    for (const std::size_t i : {0u, 2u}) {
        EXPECT_EQ(verdicts[i].choice, library);
        EXPECT_EQ(verdicts[i].origin, Origin::kept);
        EXPECT_EQ(verdicts[i].evidence.time.n, 0) << "of what was wrong";
    }
    EXPECT_EQ(verdicts[1].choice, tree);
    EXPECT_FALSE(verdicts[1].evidence.runner_up);
    EXPECT_FALSE(verdicts[1].evidence.runner_up_time);
}

// A table with one section of these ranges.
Table table_of(const std::vector<Range>& ranges) {
    Table table;
    table.sections.emplace_back().ranges = ranges;
    return table;
}

Table learnt(const Configuration& choice, std::int64_t bytes) {
    Verdict one = verdict(choice, bytes);
    one.origin = Origin::learnt;
    return table_of(ranges_of({one}));
}

// The beginnings of the first section's ranges, each with its algorithm.
std::vector<std::pair<std::int64_t, std::string>> ranges_in(const Table& table) {
    std::vector<std::pair<std::int64_t, std::string>> all;
    for (const Range& range : table.sections.at(0).ranges)
        all.emplace_back(range.from.count,
                         range.choice.impl == "tutti" ? range.choice.algorithm : range.choice.impl);
    return all;
}
using Ranges = std::vector<std::pair<std::int64_t, std::string>>;

TEST(Overlay, KeepsUnlearntEntriesHoweverOften) {
    const std::vector<Range> before{
        {.from = {0}, .choice = tree, .evidence = {verdict(tree, 1024).evidence}},
        {.from = {65536}, .choice = {.impl = "mpi"}, .origin = Origin::kept, .evidence = {}},
        {.from = {1 << 20},
         .choice = ring,
         .origin = Origin::predicted,
         .evidence = {{.size = {1 << 22}}}}};
    Table table = table_of(before);
    for (int i = 0; i < 3; ++i) {
        overlay(table, learnt(ring, 1500));
        const std::vector<Range>& after = table.sections.at(0).ranges;
        // The tree was measured in this octave alone.
        ASSERT_EQ(ranges_in(table), (Ranges{{0, "ring"}, {65536, "mpi"}, {1 << 20, "ring"}}));
        EXPECT_EQ(after[0].origin, Origin::learnt);
        EXPECT_EQ(after[0].evidence, std::vector{verdict(ring, 1500).evidence});
        EXPECT_EQ(after[1], before[1]);
        EXPECT_EQ(after[2], before[2]);
    }
}

TEST(Overlay, TakesItsOctaveOutOfARange) {
    const auto measured = {verdict(tree, 64), verdict(tree, 1024), verdict(tree, 8192)};
    Table table = table_of(ranges_of(measured));
    overlay(table, learnt(ring, 1024));
    ASSERT_EQ(ranges_in(table), (Ranges{{0, "tree"}, {1024, "ring"}, {2048, "tree"}}));
    EXPECT_EQ(table.sections[0].ranges[0].evidence, std::vector{verdict(tree, 64).evidence});
    EXPECT_EQ(table.sections[0].ranges[2].evidence, std::vector{verdict(tree, 8192).evidence});

    overlay(table, learnt(ring, 2048));
    EXPECT_EQ(ranges_in(table), (Ranges{{0, "tree"}, {1024, "ring"}, {4096, "tree"}}));
    EXPECT_EQ(table.sections[0].ranges[1].evidence.size(), 2u);

    overlay(table, learnt(tree, 3000));
    EXPECT_EQ(ranges_in(table),
              (Ranges{{0, "tree"}, {1024, "ring"}, {2048, "tree"}, {4096, "tree"}}));
}

TEST(Overlay, ReachesOverTheBordersOfRanges) {
    Table table = table_of({{.from = {0}, .choice = tree},
                            {.from = {1100}, .choice = {.impl = "mpi"}},
                            {.from = {1200}, .choice = ring}});
    overlay(table, learnt(tree, 2000));
    EXPECT_EQ(ranges_in(table), (Ranges{{0, "tree"}, {1024, "tree"}, {2048, "ring"}}));
    overlay(table, learnt(ring, std::int64_t{1} << 62));
    EXPECT_EQ(ranges_in(table).back(), (std::pair{std::int64_t{1} << 62, std::string("ring")}));
}

}  // namespace
}  // namespace tutti
