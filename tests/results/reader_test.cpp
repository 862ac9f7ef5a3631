// SPDX-License-Identifier: Apache-2.0
#include "results/records/reader.hpp"

#include <gtest/gtest.h>

#include <sstream>

#include "samples.hpp"

namespace tutti {
namespace {

std::string three_lines() {
    return to_json_line(Session{.id = "s1"}) + '\n' + to_json_line(sample_point()) + '\n' +
           to_json_line(End{.session = "s1"}) + '\n';
}

Results read_text(const std::string& text) {
    std::istringstream stream(text);
    return read_results(stream, "x.jsonl");
}

std::size_t records_in(const Results& results) {
    return results.sessions.size() + results.launches.size() + results.points.size() +
           results.fails.size() + results.ends.size();
}

std::string complaint_about(const std::string& text) {
    return refusal_by([&] { read_text(text); });
}

}  // namespace

TEST(Reader, SortsRecordsByKind) {
    const Results results = read_text(three_lines());
    ASSERT_EQ(results.sessions.size(), 1u);
    EXPECT_EQ(results.points, std::vector<Point>{sample_point()});
    EXPECT_EQ(results.ends.size(), 1u);
    EXPECT_TRUE(results.warnings.empty());
}

TEST(Reader, GivesPointsTheLimitsThatWereMeasuredAgainInTheirLaunch) {
    Point other = sample_point();
    other.launch = 3;
    Point lower = sample_point();
    set_limit(lower, 220);
    EXPECT_EQ(lower.pct_of_limit, 20);  // 220 of 1100
    const LowerLimits record{
        .session = "s1", .launch = 2, .limit_ns = {{point_id(lower.key), 220}, {"another", 1}}};
    const Results results = read_text(to_json_line(sample_point()) + '\n' + to_json_line(other) +
                                      '\n' + to_json_line(record) + '\n');
    EXPECT_EQ(results.points, (std::vector<Point>{lower, other}));
}

TEST(Reader, KeepsEveryWholeRecordWhereverTheLastLineIsTorn) {
    const std::string text = three_lines();
    for (std::size_t cut = text.find('\n') + 1; cut <= text.size(); ++cut) {
        const std::string head = text.substr(0, cut);
        const auto newlines = static_cast<std::size_t>(std::count(head.begin(), head.end(), '\n'));
        // A line that lacks its newline and nothing else is whole.
        const bool only_newline_missing = cut < text.size() && text[cut] == '\n';
        const bool torn = head.back() != '\n' && !only_newline_missing;
        const Results results = read_text(head);
        EXPECT_EQ(records_in(results), newlines + (only_newline_missing ? 1 : 0)) << cut;
        EXPECT_EQ(results.warnings.size(), torn ? 1u : 0u) << cut;
    }
}

TEST(Reader, ATornLineIsReportedWithFileAndLine) {
    const std::string text = three_lines();
    const Results results = read_text(text.substr(0, text.size() - 5));
    ASSERT_EQ(results.warnings.size(), 1u);
    EXPECT_TRUE(results.warnings[0].starts_with("x.jsonl:3: ")) << results.warnings[0];
}

TEST(Reader, ABrokenLineInTheMiddleIsAnError) {
    EXPECT_EQ(complaint_about(to_json_line(End{}) + "\n{\"v\":1,\n" + to_json_line(End{}) + "\n"),
              "x.jsonl:2: not JSON");
    EXPECT_EQ(complaint_about(to_json_line(End{}) + "\n\nx\n" + to_json_line(End{}) + "\n"),
              "x.jsonl:3: not JSON");
}

TEST(Reader, ByteOrderMarksBlankLinesAndCarriageReturnsAreNoRecords) {
    const std::string mark = "\xef\xbb\xbf", line = to_json_line(End{});
    for (const std::string& text :
         {mark + line + "\n" + line, line + "\r\n" + line + "\r\n", "\n" + line + "\n\n" + line,
          mark + "\r\n" + line + "\r\n \t\r\n" + mark + line + "\r\n\r",
          line + "\n" + line + "\n "}) {
        const Results results = read_text(text);
        EXPECT_EQ(records_in(results), 2u) << text;
        EXPECT_TRUE(results.warnings.empty()) << text;
    }
    for (const std::string& text : {std::string("\n"), std::string("\r\n \n"), mark, mark + "\n\n"})
        EXPECT_TRUE(holds(complaint_about(text), "is empty")) << text;
}

TEST(Reader, FilesInUtf16AreRead) {
    const std::string lines = to_json_line(End{}) + "\r\n" + to_json_line(End{}) + "\r\n";
    std::string little, big;
    for (const char c : lines) {
        little += {c, '\0'};
        big += {'\0', c};
    }
    for (const std::string& text : {"\xff\xfe" + little, "\xfe\xff" + big, little, big}) {
        const Results results = read_text(text);
        EXPECT_EQ(records_in(results), 2u);
        EXPECT_TRUE(results.warnings.empty());
    }
    EXPECT_EQ(read_text(little.substr(0, little.size() - 20)).warnings.size(), 1u);
}

TEST(Reader, AnotherSchemaVersionIsAnError) {
    // Without a line end it is not torn but foreign.
    for (const char* const end : {"\n", ""}) {
        const std::string complaint =
            complaint_about(to_json_line(End{}) + "\n{\"v\":2,\"kind\":\"end\"}" + end);
        EXPECT_TRUE(complaint.starts_with("x.jsonl:2: ")) << complaint;
        EXPECT_TRUE(holds(complaint, "version 2"));
    }
}

TEST(Reader, AFileThatIsNoResultsFileIsAnError) {
    EXPECT_TRUE(holds(complaint_about(""), "is empty"));
    EXPECT_EQ(complaint_about("size,count\n1,2\n"), "x.jsonl:1: not JSON");
    EXPECT_EQ(complaint_about("PNG"), "x.jsonl:1: not JSON");
}

TEST(Reader, AnUnreadableFileIsNamed) {
    const TemporaryFolder folder;
    EXPECT_THROW(read_results(folder / "absent.jsonl"), Error);
    EXPECT_THROW(read_results(folder / ""), Error);
}

}  // namespace tutti
