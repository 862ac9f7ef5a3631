// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "autotune/table/table.hpp"
#include "table_samples.hpp"

namespace tutti {
namespace {

using test::ours;
using test::subject_of;
using test::two_ranks;

Section section(Collective collective, const std::string& algorithm, bool is_complete = true) {
    return {.job_shape = two_ranks,
            .subject = subject_of(collective),
            .ranges = {{.from = {0}, .choice = ours(algorithm)}},
            .is_complete = is_complete};
}

Table written(const std::string& when, std::vector<Section> sections) {
    return {.written = when, .tool = "of " + when, .sections = std::move(sections)};
}

std::string algorithm_for(const Table& table, Collective collective) {
    const Section* found = find_section(table, two_ranks, subject_of(collective));
    return found ? found->ranges.front().choice.algorithm : "none";
}

constexpr auto summed = Collective::all_reduce;
constexpr auto broadcast = Collective::broadcast;

TEST(MergedTables, HoldTheSectionsOfAll) {
    const Table table = merged(std::vector{written("2026-02", {section(broadcast, "tree")}),
                                           written("2026-01", {section(summed, "ring")})});
    EXPECT_EQ(algorithm_for(table, broadcast), "tree");
    EXPECT_EQ(algorithm_for(table, summed), "ring");
    EXPECT_EQ(table.sections.size(), 2u);
    EXPECT_EQ(table.written, "2026-02");
    EXPECT_EQ(table.tool, "of 2026-02");
}

TEST(MergedTables, TakeTheLaterOfTwoWhateverTheirOrder) {
    const Table early = written("2026-01", {section(summed, "early")});
    const Table late = written("2026-02", {section(summed, "late")});
    EXPECT_EQ(algorithm_for(merged(std::vector{early, late}), summed), "late");
    EXPECT_EQ(algorithm_for(merged(std::vector{late, early}), summed), "late");
}

TEST(MergedTables, TakeTheOneThatComesLastOfThoseFromTheSameTime) {
    const Table one = written("2026-01", {section(summed, "one")});
    const Table other = written("2026-01", {section(summed, "other")});
    EXPECT_EQ(algorithm_for(merged(std::vector{one, other}), summed), "other");
    EXPECT_EQ(algorithm_for(merged(std::vector{other, one}), summed), "one");
}

TEST(MergedTables, PreferWhatIsComplete) {
    const Table whole = written("2026-01", {section(summed, "whole")});
    const Table part = written("2026-02", {section(summed, "part", false)});
    EXPECT_EQ(algorithm_for(merged(std::vector{whole, part}), summed), "whole");
    EXPECT_EQ(algorithm_for(merged(std::vector{part, whole}), summed), "whole");
    const Table later_part = written("2026-03", {section(summed, "later part", false)});
    EXPECT_EQ(algorithm_for(merged(std::vector{later_part, part}), summed), "later part");
}

TEST(MergedTables, RememberWhenEachSectionWasMeasured) {
    const Table first = written("2026-01", {section(summed, "first")});
    const Table third = written("2026-03", {section(broadcast, "third")});
    const Table both = merged(std::vector{first, third});
    EXPECT_EQ(both.written, "2026-03");
    // Newer than the section, though older than the table that holds it.
    const Table second = written("2026-02", {section(summed, "second")});
    EXPECT_EQ(algorithm_for(merged(std::vector{both, second}), summed), "second");
}

TEST(MergedTables, KeepSettingsAndBuffersApart) {
    Section more_ranks = section(summed, "more");
    more_ranks.job_shape.ranks = 3;
    Section unregistered = section(summed, "unregistered");
    unregistered.subject.buffers = BufferKind::unregistered;
    const Table table = merged(std::vector{written("1", {section(summed, "a"), more_ranks}),
                                           written("2", {unregistered})});
    EXPECT_EQ(table.sections.size(), 3u);
}

TEST(MergedTables, KeepTheLatestModel) {
    Table with = written("2026-01", {}), with_later = written("2026-02", {});
    with.model = "early";
    with_later.model = "late";
    const Table without = written("2026-03", {});
    EXPECT_EQ(merged(std::vector{with_later, with, without}).model, "late");
}

TEST(MergedTables, StayTheSameWhenMergedAgain) {
    for (unsigned seed = 0; seed < 20; ++seed) {
        const std::vector tables{test::RandomTables(seed).table(2),
                                 test::RandomTables(seed + 1000).table(2)};
        const Table once = merged(tables);
        EXPECT_EQ(merged(std::vector{once}), once);
        EXPECT_EQ(merged(std::vector{once, tables[0], tables[1]}), once);
    }
}

TEST(MergedTables, OfNoneAreEmpty) { EXPECT_EQ(merged({}), Table{}); }

}  // namespace
}  // namespace tutti
