// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <sstream>

#include "autotune/table/explain.hpp"
#include "autotune/table/range_text.hpp"
#include "base/json_writer.hpp"
#include "table_samples.hpp"
#include "tests/base/messages.hpp"

namespace tutti {
namespace {

using test::ours;
using test::subject_of;

std::vector<std::string> lines_of(const std::string& text) {
    std::vector<std::string> lines;
    std::istringstream stream(text);
    for (std::string line; std::getline(stream, line);) lines.push_back(line);
    return lines;
}

// Tree up to 1K, then ring with a runner-up and a comparison.
Table example() {
    Range large{.from = {1024}, .choice = ours("ring")};
    RangeEvidence seen{.size = {4096}, .time = {12300, 12000, 12600, 20}};
    seen.runner_up = ours("tree");
    seen.runner_up_time = TimeInterval{24600, 24000, 25000, 20};
    seen.hold_out = HoldOut{.library = "mpi", .gain = 1.52, .gain_low = 1.4, .gain_high = 1.61};
    large.evidence.push_back(seen);
    return {.sections = {{.job_shape = test::two_ranks,
                          .subject = subject_of(Collective::all_reduce),
                          .ranges = {{.from = {0}, .choice = ours("tree")}, large}}}};
}

TEST(ExplainedTable, HasARowPerRangeWithItsEvidence) {
    const auto lines = lines_of(explain(example()));
    const auto row = std::ranges::find_if(
        lines, [](const std::string& line) { return line.starts_with("  b"); });
    ASSERT_NE(row, lines.end());
    std::istringstream words(*row);
    std::vector<std::string> cells;
    for (std::string word; words >> word;) cells.push_back(word);
    const std::vector<std::string> expected{
        "b",      "1K",    "any",           "ring/loopback", "measured", "4K",     "12.3",  "us",
        "[12.0,", "12.6]", "tree/loopback", "+100%",         "1.52",     "[1.40,", "1.61]", "mpi"};
    EXPECT_EQ(cells, expected);
}

Json picture_of(const Table& table) { return Json::parse(to_picture_json(table)); }

TEST(ExplainedTable, ShowsRangesOnAnAxisOfSizes) {
    // 8 B to 4 MiB are 19 octaves; the tree has the 7 below 1K.
    const std::string bar = "     " + std::string(7 * 4, 'a') + std::string(12 * 4, 'b');
    const auto lines = lines_of(explain(example()));
    EXPECT_NE(std::ranges::find(lines, bar), lines.end()) << explain(example());
}

TEST(ExplainedTable, SaysWhatIsIncomplete) {
    Table table = example();
    EXPECT_FALSE(holds(explain(table), "incomplete"));
    table.sections[0].is_complete = false;
    EXPECT_TRUE(holds(explain(table), "incomplete"));
    EXPECT_EQ(picture_of(table)["shapes"][0]["rows"][0]["complete"], false);
}

TEST(ExplainedTable, SaysWhatLaunchesDisagreeAbout) {
    Table table = example();
    EXPECT_FALSE(holds(explain(table), "launches"));
    table.sections[0].ranges[1].evidence[0].of_launches = {ours("tree"), ours("ring"),
                                                           ours("tree")};
    for (const char* part : {"at 1 of 1", "2 tree/loopback, 1 ring/loopback"})
        EXPECT_TRUE(holds(explain(table), part));
}

TEST(ExplainedTable, FitsThePageWhateverItHolds) {
    for (unsigned seed = 0; seed < 50; ++seed)
        for (const std::string& line : lines_of(explain(test::RandomTables(seed).table(5))))
            ASSERT_LE(line.size(), 120u) << line;
}

TEST(ExplainedTable, MayBeEmpty) {
    EXPECT_NE(explain({}).find("0 sections"), std::string::npos);
    EXPECT_TRUE(picture_of({})["shapes"].empty());
}

TEST(PictureOfATable, HasABoxForEachRangeWithItsChoiceOriginAndGain) {
    const Json picture = picture_of(example());
    const Json& boxes = picture["shapes"][0]["rows"][0]["boxes"];
    EXPECT_EQ(boxes[0]["choice"], "tree/loopback");
    EXPECT_EQ(boxes[0]["end"], boxes[1]["begin"]);
    EXPECT_EQ(boxes[1]["choice"], "ring/loopback");
    EXPECT_EQ(boxes[1]["origin"], "measured");
    EXPECT_EQ(boxes[1]["gain"], "1.52 [1.40, 1.61] mpi");
    EXPECT_EQ(picture["sizes"].back(), "4M");
}

TEST(ExplainedTable, ShowsTheGainOfADefaultThatWasKeptOverWhatChallengedIt) {
    // The challenger took 1 / 0.8 as long, [1 / 1, 1 / 0.5].
    Table table = example();
    Range& kept = table.sections[0].ranges[1];
    kept.origin = Origin::kept;
    kept.choice = {.impl = "mpi"};
    kept.evidence[0].hold_out =
        HoldOut{.library = "mpi", .gain = 0.8, .gain_low = 0.5, .gain_high = 1};
    for (const std::string& text : {explain(table), to_picture_json(table)}) {
        EXPECT_TRUE(holds(text, "1.25 [1.00, 2.00] tree/loopback"));
        EXPECT_FALSE(holds(text, "0.800")) << text;
    }
}

TEST(RangeText, GivesTimesThreeDigitsAndAUnit) {
    EXPECT_EQ(to_string(TimeInterval{999, 990, 1010, 5}), "999 ns [990, 1010]");
    EXPECT_EQ(to_string(TimeInterval{1234, 1200, 1300, 5}), "1.23 us [1.20, 1.30]");
    EXPECT_EQ(to_string(TimeInterval{45.6e6, 45e6, 50e6, 5}), "45.6 ms [45.0, 50.0]");
    EXPECT_EQ(to_string(TimeInterval{2e9, 2e9, 2e9, 5}), "2.00 s [2.00, 2.00]");
    EXPECT_EQ(to_string(TimeInterval{2000, 2000, 2000, 0}), "~2.00 us");
}

TEST(RangeText, NamesAChoiceInFewLetters) {
    EXPECT_EQ(short_text(ours("ring", "shm")), "ring/shm");
    EXPECT_EQ(short_text({"tutti", "chain", "mpi", "", Bytes{65536}, 4, 2}),
              "chain/mpi s64K r4 c2");
    EXPECT_EQ(short_text({.impl = "mpi", .algorithm = "ring"}), "mpi/ring");
}

}  // namespace
}  // namespace tutti
