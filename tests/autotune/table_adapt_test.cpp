// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cmath>

#include "autotune/table/adapt.hpp"
#include "autotune/table/table_json.hpp"
#include "table_samples.hpp"
#include "tests/base/messages.hpp"

namespace tutti {
namespace {

using test::ours;
using test::seen_at;
using test::subject_of;
using test::time_of;

const Subject sums = subject_of(Collective::all_reduce);
const Configuration tree = ours("tree"), ring = ours("ring");

JobShape on(int ranks, const std::string& topology = std::string(64, 'a')) {
    return {.ranks = ranks, .ranks_per_host = ranks, .topology = topology};
}

// Tree below `crossover`, ring from there on; measured at each power of two from 8 B to 4 MiB.
Section section(int ranks, std::int64_t crossover,
                const std::string& topology = std::string(64, 'a')) {
    Section made{.job_shape = on(ranks, topology), .subject = sums};
    made.ranges = {{.from = {0}, .choice = tree}, {.from = {crossover}, .choice = ring}};
    for (std::int64_t size = 8; size <= 4 << 20; size *= 2)
        made.ranges[size < crossover ? 0 : 1].evidence.push_back(seen_at(size, 1000));
    return made;
}

std::optional<double> knows_nothing(const Configuration&, const Subject&, const JobShape&, Bytes) {
    return std::nullopt;
}

// The tree takes log2 of the ranks, the ring twice the ranks of start-ups; the ring's bytes cost an
// eighth of the tree's. They are equal where size = 8000 / 7 * (2 ranks - 2 - log2 ranks).
std::optional<double> textbook(const Configuration& choice, const Subject&,
                               const JobShape& job_shape, Bytes size) {
    const double steps = choice == tree ? std::log2(job_shape.ranks) : 2.0 * (job_shape.ranks - 1);
    if (choice != tree && choice != ring) return std::nullopt;
    return 1000 * steps + static_cast<double>(size.count) * (choice == tree ? 1 : 0.125);
}

const Configuration& choice_at(const Table& table, std::int64_t size) {
    return range_at(table.sections.at(0), {size}).choice;
}
Origin origin_at(const Table& table, std::int64_t size) {
    return range_at(table.sections.at(0), {size}).origin;
}

std::string error_of(const Table& table, const JobShape& job_shape) {
    return thrown_by([&] { adapted(table, job_shape, knows_nothing); }).text;
}

TEST(FittedTable, TakesWhatWasMeasuredOnTheseRanks) {
    const Table table{
        .written = "now", .sections = {section(2, 512), section(4, 4096)}, .model = "m"};
    const Table fit = adapted(table, on(4), textbook);
    ASSERT_EQ(fit.sections.size(), 1u);
    EXPECT_EQ(fit.sections[0].job_shape, on(4));
    EXPECT_EQ(fit.written, "now");
    EXPECT_EQ(fit.model, "m");
    for (std::int64_t size = 1; size < 8 << 20; size *= 2) {
        EXPECT_EQ(choice_at(fit, size), size < 4096 ? tree : ring);
        EXPECT_EQ(origin_at(fit, size), Origin::measured);
    }
    EXPECT_EQ(fit.sections[0].ranges[0].evidence, table.sections[1].ranges[0].evidence);
    EXPECT_EQ(fit.sections[0].ranges[1].evidence, table.sections[1].ranges[1].evidence);
}

TEST(FittedTable, MarksWhatLiesBeyondTheMeasuredSizes) {
    const Table fit = adapted({.sections = {section(2, 512)}}, on(2), knows_nothing);
    EXPECT_EQ(origin_at(fit, (8 << 20) - 1), Origin::measured);
    EXPECT_EQ(origin_at(fit, 8 << 20), Origin::interpolated);
    EXPECT_EQ(choice_at(fit, 8 << 20), ring);
}

TEST(FittedTable, LetsTheModelDecideBeyondTheMeasuredSizes) {
    Section measured{.job_shape = on(2), .subject = sums};
    measured.ranges = {{.from = {0}, .choice = tree, .evidence = {seen_at(64, 1)}}};
    RangeEvidence& last = measured.ranges[0].evidence[0];
    last.time = time_of(*textbook(tree, sums, on(2), {64}));
    last.runner_up = ring;
    last.runner_up_time = time_of(*textbook(ring, sums, on(2), {64}));
    const Table fit = adapted({.sections = {measured}}, on(2), textbook);
    // Equal at 8000 / 7 * (2 * 2 - 2 - 1) = 1143 bytes: the powers of two are 1024 and 2048.
    EXPECT_EQ(choice_at(fit, 2047), tree);
    EXPECT_EQ(choice_at(fit, 2048), ring);
    EXPECT_EQ(choice_at(fit, std::int64_t{1} << 62), ring);
    EXPECT_EQ(origin_at(fit, 127), Origin::measured);
    EXPECT_EQ(origin_at(fit, 128), Origin::interpolated);
}

TEST(FittedTable, LetsTheModelDecideBetweenMeasuredSizesThatDisagree) {
    Section measured{.job_shape = on(2), .subject = sums};
    measured.ranges = {{.from = {0}, .choice = tree, .evidence = {seen_at(64, 1)}},
                       {.from = {1 << 20}, .choice = ring, .evidence = {seen_at(1 << 20, 1)}}};
    measured.ranges[0].evidence[0].time = time_of(*textbook(tree, sums, on(2), {64}));
    measured.ranges[1].evidence[0].time = time_of(*textbook(ring, sums, on(2), {1 << 20}));
    const Table fit = adapted({.sections = {measured}}, on(2), textbook);
    EXPECT_EQ(choice_at(fit, 2047), tree);
    EXPECT_EQ(choice_at(fit, 2048), ring);
    EXPECT_EQ(origin_at(fit, 127), Origin::measured);
    EXPECT_EQ(origin_at(fit, 128), Origin::interpolated);
    EXPECT_EQ(origin_at(fit, (1 << 20) - 1), Origin::interpolated);
    EXPECT_EQ(origin_at(fit, 1 << 20), Origin::measured);
    // Without a model the boundary stays, but is not called measured.
    const Table silent = adapted({.sections = {measured}}, on(2), knows_nothing);
    EXPECT_EQ(choice_at(silent, (1 << 20) - 1), tree);
    EXPECT_EQ(origin_at(silent, 4096), Origin::interpolated);
}

TEST(FittedTable, LeavesNeighbouringPowersOfTwoAlone) {
    const Table table{.sections = {section(2, 512)}};
    const Table fit = adapted(table, on(2), textbook);
    ASSERT_EQ(fit.sections[0].ranges.size(), 3u);  // tree, ring, ring beyond
    EXPECT_EQ(fit.sections[0].ranges[1].from, Bytes{512});
}

TEST(FittedTable, LetsTheModelDecideBetweenRankCountsThatDisagree) {
    // On 4 ranks equal at 8000 / 7 * (2 * 4 - 2 - 2) = 4571 bytes: between 4096 and 8192.
    Section two = section(2, 1024), eight = section(8, 1 << 16);
    for (Section* known : {&two, &eight})
        for (Range& range : known->ranges)
            for (RangeEvidence& seen : range.evidence)
                seen.time = time_of(*textbook(range.choice, sums, known->job_shape, seen.size));
    const Table fit = adapted({.sections = {two, eight}}, on(4), textbook);
    EXPECT_EQ(choice_at(fit, 1023), tree);
    EXPECT_EQ(choice_at(fit, 8191), tree);
    EXPECT_EQ(choice_at(fit, 8192), ring);
    EXPECT_EQ(choice_at(fit, 1 << 16), ring);
    for (const Range& range : fit.sections[0].ranges) EXPECT_EQ(range.origin, Origin::interpolated);
    EXPECT_EQ(parse_table(to_json(fit), "FILE"), fit);
}

TEST(FittedTable, CorrectsTheModelByWhatWasMeasured) {
    // All rings were measured to take eight times what the model says: on 4 ranks tree wins where
    // 2000 + n < 8 (6000 + n / 8), which is everywhere.
    Section two = section(2, 1024), eight = section(8, 1 << 16);
    for (Section* known : {&two, &eight})
        for (Range& range : known->ranges)
            for (RangeEvidence& seen : range.evidence)
                seen.time = time_of((range.choice == ring ? 8 : 1) *
                                    *textbook(range.choice, sums, known->job_shape, seen.size));
    const Table fit = adapted({.sections = {two, eight}}, on(4), textbook);
    EXPECT_EQ(choice_at(fit, 8192), tree);
    EXPECT_EQ(choice_at(fit, (1 << 16) - 1), tree);
}

TEST(FittedTable, TakesTheNearerRankCountWithoutAModel) {
    const Table table{.sections = {section(2, 1024), section(16, 1 << 16)}};
    EXPECT_EQ(choice_at(adapted(table, on(3), knows_nothing), 4096), ring);   // like 2 ranks
    EXPECT_EQ(choice_at(adapted(table, on(12), knows_nothing), 4096), tree);  // like 16
    EXPECT_EQ(choice_at(adapted(table, on(12), {}), 4096), tree);
    EXPECT_EQ(choice_at(adapted(table, on(64), knows_nothing), 4096), tree);  // only 16 is near
    EXPECT_EQ(origin_at(adapted(table, on(64), knows_nothing), 4096), Origin::interpolated);
}

// Eight ranks on one host, or on eight: what is nearer to the hosts of these ranks counts.
TEST(FittedTable, TakesTheNearerPlacementOfTheSameRanks) {
    Section one_host = section(8, 1024), eight_hosts = section(8, 1 << 16);
    eight_hosts.job_shape.ranks_per_host = 1;
    const auto placed = [](int ranks_per_host) {
        JobShape job_shape = on(8);
        job_shape.ranks_per_host = ranks_per_host;
        return job_shape;
    };
    for (const Table& table :
         {Table{.sections = {one_host, eight_hosts}}, Table{.sections = {eight_hosts, one_host}}}) {
        EXPECT_EQ(choice_at(adapted(table, placed(4), knows_nothing), 4096), ring);
        EXPECT_EQ(choice_at(adapted(table, placed(2), knows_nothing), 4096), tree);
        EXPECT_EQ(adapted(table, placed(4), knows_nothing).sections.at(0).job_shape, placed(4));
    }
}

// The model is asked for these ranks as they lie on their hosts.
TEST(FittedTable, LetsTheModelKnowTheRanksOfAHost) {
    const auto by_hosts = [](const Configuration& choice, const Subject&, const JobShape& job_shape,
                             Bytes) -> std::optional<double> {
        const bool is_one_host = job_shape.ranks_per_host == job_shape.ranks;
        return (choice == tree) == is_one_host ? 1000 : 2000;
    };
    Section two = section(2, 1024), eight = section(8, 1 << 16);
    for (Section* known : {&two, &eight})
        for (Range& range : known->ranges)
            for (RangeEvidence& seen : range.evidence)
                seen.time = time_of(*by_hosts(range.choice, sums, known->job_shape, seen.size));
    const Table table{.sections = {two, eight}};
    EXPECT_EQ(choice_at(adapted(table, on(4), by_hosts), 4096), tree);
    JobShape two_hosts = on(4);
    two_hosts.ranks_per_host = 2;
    EXPECT_EQ(choice_at(adapted(table, two_hosts, by_hosts), 4096), ring);
}

// Otherwise a choice that was never measured would replace one that was.
TEST(FittedTable, LeavesATieToWhatWasMeasured) {
    Section measured{.job_shape = on(2), .subject = sums};
    measured.ranges = {{.from = {0}, .choice = tree, .evidence = {seen_at(64, 1000)}}};
    measured.ranges[0].evidence[0].runner_up = ring;
    measured.ranges[0].evidence[0].runner_up_time.reset();
    const auto all_alike = [](const Configuration&, const Subject&, const JobShape&,
                              Bytes) -> std::optional<double> { return 1000; };
    const Table fit = adapted({.sections = {measured}}, on(2), all_alike);
    for (std::int64_t size = 1; size < 8 << 20; size *= 2) EXPECT_EQ(choice_at(fit, size), tree);
}

TEST(FittedTable, TakesNoAlgorithmThatRefusesTheRanks) {
    Section four{.job_shape = on(4), .subject = subject_of(Collective::all_to_all)};
    four.ranges = {{.from = {0}, .choice = ours("butterfly"), .evidence = {seen_at(8, 1)}}};
    four.ranges[0].evidence[0].runner_up = ring;
    const Table table{.sections = {four}};
    EXPECT_EQ(choice_at(adapted(table, on(8), knows_nothing), 8), ours("butterfly"));
    EXPECT_EQ(choice_at(adapted(table, on(6), knows_nothing), 8), ring);
}

TEST(FittedTable, RefusesAnotherTopologyUnlessAskedTo) {
    const std::string there(64, 'b');
    const Table table{.sections = {section(2, 512, there)}};
    const std::string error = error_of(table, on(2));
    EXPECT_TRUE(holds(error, {"bbbbbbbbbbbb)", "aaaaaaaaaaaa)", "--table-anyway"}));
    const Table fit = adapted(table, on(2), knows_nothing, {.anyway = true});
    EXPECT_EQ(fit.sections.at(0).job_shape, on(2));
    EXPECT_EQ(choice_at(fit, 4096), ring);
    EXPECT_EQ(origin_at(fit, 4096), Origin::interpolated) << "it was not measured here";
}

TEST(FittedTable, PrefersItsOwnTopologyToOneThatIsTakenAnyway) {
    const Table table{.sections = {section(2, 512, std::string(64, 'b')), section(16, 1 << 20)}};
    EXPECT_EQ(choice_at(adapted(table, on(2), knows_nothing, {.anyway = true}), 4096), tree);
}

TEST(FittedTable, CannotBeMadeOfNothing) {
    EXPECT_NE(error_of({}, on(2)).find("no choices"), std::string::npos);
}

}  // namespace
}  // namespace tutti
