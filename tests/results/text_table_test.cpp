// SPDX-License-Identifier: Apache-2.0
#include "results/tables/text_table.hpp"

#include <gtest/gtest.h>

#include <sstream>
#include <vector>

#include "samples.hpp"

namespace tutti {
namespace {

std::vector<std::string> words_of(const std::string& text) {
    std::istringstream stream(text);
    return {std::istream_iterator<std::string>(stream), {}};
}

Point in_place(Point point) {
    point.key.inplace = true;
    return point;
}

void expect_last_column(TableColumns columns, const std::string& name, const std::string& unit) {
    std::istringstream lines(table_header({}, columns));
    std::string names, units;
    while (std::getline(lines, names) && names.find("size") == names.npos) {
    }
    std::getline(lines, units);
    EXPECT_TRUE(names.ends_with(name)) << names;
    EXPECT_TRUE(units.ends_with(unit)) << units;
    EXPECT_EQ(names.size(), units.size());
}

}  // namespace

TEST(TextTable, HeaderNamesTheColumnsOfNcclTestsAndThenOurs) {
    const std::vector<std::string> notes = {"tutti 0.1.0"};
    const std::string header = table_header(notes);
    std::istringstream lines(header);
    for (std::string line; std::getline(lines, line);) EXPECT_EQ(line.at(0), '#') << line;
    EXPECT_TRUE(header.starts_with("# tutti 0.1.0\n#\n"));
    EXPECT_TRUE(
        holds(header, {"#       size         count      type   redop    root     time   algbw   "
                       "busbw  #wrong     time   algbw   busbw  #wrong  algorithm",
                       "#        (B)    (elements)                               (us)  (GB/s)  "
                       "(GB/s)             (us)  (GB/s)  (GB/s)        "}));
}

TEST(TextTable, RowHoldsBothPlacements) {
    Point out = sample_point();
    out.time.n = 7;  // enough for an interval: 1000..5000 about 1100 is +-181.8 %
    const Point in = in_place(out);
    const std::string row = table_row({.out_of_place = &out, .in_place = &in});
    EXPECT_TRUE(row.starts_with(
        "        1024           256     float     sum      -1     1.10    0.93    1.40       0"))
        << row;
    EXPECT_EQ(words_of(row), (std::vector<std::string>{"1024", "256", "float", "sum", "-1", "1.10",
                                                       "0.93", "1.40", "0", "1.10", "0.93", "1.40",
                                                       "0", "ring", "shm", "181.8", "7", "50"}));
}

TEST(TextTable, ShowsSegmentsWhereSeveralTakePart) {
    const Point out = sample_point();
    EXPECT_NE(table_row({.out_of_place = &out}).find("  ring  "), std::string::npos);
    EXPECT_NE(
        table_row({.out_of_place = &out, .segment = SegmentInName::shown}).find("  ring[512]  "),
        std::string::npos);
    Point skipped = sample_point();
    skipped.skipped = "too cold";
    EXPECT_TRUE(table_row({.out_of_place = &skipped, .segment = SegmentInName::shown})
                    .starts_with("# skipped: ring[512] over shm"));
}

TEST(TextTable, FewSamplesHaveNoInterval) {
    const Point out = sample_point();
    const auto words = words_of(table_row({.out_of_place = &out}));
    EXPECT_EQ(words[words.size() - 3], "N/A");
    EXPECT_EQ(words[words.size() - 2], "5");
}

TEST(TextTable, ShowsTheShareOfTheLimitOfTheWorsePlacement) {
    Point out = sample_point(), in = in_place(sample_point());
    out.pct_of_limit = 88.4;
    in.pct_of_limit.reset();
    EXPECT_EQ(words_of(table_row({.out_of_place = &out, .in_place = &in})).back(), "88");
    in.pct_of_limit = 41.6;
    EXPECT_EQ(words_of(table_row({.out_of_place = &out, .in_place = &in})).back(), "42");
    out.pct_of_limit = in.pct_of_limit = std::nullopt;
    EXPECT_EQ(words_of(table_row({.out_of_place = &out, .in_place = &in})).back(), "N/A");
    EXPECT_NE(table_header({}).find("%lim"), std::string::npos);
}

TEST(TextTable, MarksWhatTookLessThanItsLimitByMoreThanItsInterval) {
    Point out = sample_point(), in = in_place(sample_point());
    out.time.ci95_hi = 1150;
    set_limit(out, 1140);
    const TableRow row{.out_of_place = &out, .in_place = &in};
    EXPECT_EQ(words_of(table_row(row)).back(), "50");
    set_limit(out, 1155);
    EXPECT_EQ(words_of(table_row(row)).back(), "50!");
    EXPECT_EQ(words_of(table_row({.out_of_place = &out})).back(), "105!");
    EXPECT_NE(table_footer(std::vector{out, in, skipped_point()}).find("1 of 2 points took"),
              std::string::npos);
    EXPECT_EQ(table_footer(std::vector{in}).find("took less"), std::string::npos);
}

TEST(TextTable, ShowsTheNetworkBytesOnSeveralHosts) {
    Point out = sample_point(), in = in_place(sample_point());
    in.measured.network_bytes->rx_per_call = 2000.4;
    EXPECT_EQ(
        words_of(table_row({.out_of_place = &out, .in_place = &in}, TableColumns{.wire = true}))
            .back(),
        "2000");
    EXPECT_EQ(words_of(table_row({.out_of_place = &out}, TableColumns{.wire = true})).back(),
              "1060");
    out.measured.network_bytes.reset();
    EXPECT_EQ(words_of(table_row({.out_of_place = &out}, TableColumns{.wire = true})).back(),
              "N/A");
    EXPECT_EQ(table_header({}).find("wire"), std::string::npos);
    expect_last_column({.wire = true}, "wire", "(B/call)");
}

TEST(TextTable, ShowsTheEnergyOfPackagesAndGpusWhereThereAreMeters) {
    const TableColumns columns{.energy = true};
    Point out = sample_point(), in = in_place(sample_point());
    in.measured.gpu_energy_J.reset();
    const TableRow row{.out_of_place = &out, .in_place = &in};
    EXPECT_EQ(words_of(table_row(row, columns)).back(), "0.5625");
    out.measured.energy_J.reset();
    out.measured.gpu_energy_J.reset();
    EXPECT_EQ(words_of(table_row(row, columns)).back(), "0.0625");
    in.measured.energy_J.reset();
    EXPECT_EQ(words_of(table_row(row, columns)).back(), "N/A");
    EXPECT_EQ(table_header({}).find("energy"), std::string::npos);
    expect_last_column(columns, "energy", "(J/call)");
}

TEST(TextTable, AnAbsentPlacementIsNotApplicable) {
    Point out = sample_point();
    out.measured.check.state = CheckState::skipped;
    const auto words = words_of(table_row({.out_of_place = &out}));
    EXPECT_EQ(words[8], "N/A");  // not checked
    EXPECT_EQ(std::vector(words.begin() + 9, words.begin() + 13),
              std::vector<std::string>(4, "N/A"));
}

TEST(TextTable, ASkippedCandidateIsACommentWithItsReason) {
    const Point skipped = skipped_point();
    EXPECT_EQ(table_row({.out_of_place = &skipped}),
              "# skipped: tree over shm at 8 out-of-place: needs a power of two; 6 ranks given\n");
    Point in = in_place(sample_point());
    const std::string row = table_row({.out_of_place = &skipped, .in_place = &in});
    EXPECT_TRUE(row.starts_with("# skipped: "));
    EXPECT_EQ(std::count(row.begin(), row.end(), '\n'), 2);
}

TEST(TextTable, LargeNumbersLoseDecimalsRatherThanTheirColumn) {
    Point slow = sample_point();
    slow.time.p50 = 123'456'789;
    EXPECT_EQ(words_of(table_row({.out_of_place = &slow}))[5], "123457");
    slow.time.p50 = 12'345'678;
    EXPECT_EQ(words_of(table_row({.out_of_place = &slow}))[5], "12345.7");
}

TEST(RowsOf, PairPlacementsByKeyWhateverTheirOrder) {
    Point ring = sample_point(), tree = sample_point();
    tree.key.configuration.algorithm = "tree";
    const std::vector<Point> points{ring, in_place(tree), in_place(ring), tree};
    const auto rows = rows_of(points);
    ASSERT_EQ(rows.size(), 2U);
    EXPECT_EQ(rows[0].out_of_place, &points[0]);
    EXPECT_EQ(rows[0].in_place, &points[2]);
    EXPECT_EQ(rows[1].out_of_place, &points[3]);
    EXPECT_EQ(rows[1].in_place, &points[1]);
}

// The named segment is the default.
TEST(RowsOf, TwoCandidatesOfOneKeyStayTwo) {
    const Point out = sample_point();
    const std::vector<Point> points{out, out, in_place(out), in_place(out)};
    const auto rows = rows_of(points);
    ASSERT_EQ(rows.size(), 2U);
    EXPECT_EQ(rows[1].out_of_place, &points[1]);
    EXPECT_EQ(rows[1].in_place, &points[3]);
}

TEST(RowsOf, KindsOfBuffersAndSizesStayApart) {
    Point host = in_place(sample_point()), larger = in_place(sample_point());
    host.key.buf = "registered";
    larger.key.count *= 2;
    const std::vector<Point> points{sample_point(), host, larger};
    EXPECT_EQ(rows_of(points).size(), 3U);
}

TEST(TextTable, FooterIsWhatCiScriptsGrepFor) {
    std::vector<Point> points = {sample_point(), sample_point(), skipped_point()};
    points[0].bandwidth.busbw = 1;
    points[1].bandwidth.busbw = 4;
    EXPECT_EQ(table_footer(points),
              "# Out of bounds values : 0 OK\n# Avg bus bandwidth    : 2.5\n#\n");
    points[0].measured.check = {.state = CheckState::fail, .n_wrong = 3};
    EXPECT_TRUE(table_footer(points).starts_with("# Out of bounds values : 3 FAILED\n"));
    EXPECT_EQ(table_footer({}), "# Out of bounds values : 0 OK\n# Avg bus bandwidth    : 0\n#\n");
}

TEST(TextTable, ShowsPredictionsAndMarksThoseFarOff) {
    Point point = sample_point();
    point.time.p50 = 1000;
    point.key.inplace = false;
    const TableColumns columns{.predicted = true};
    point.predicted_ns = 1900;
    EXPECT_TRUE(table_row({.out_of_place = &point}, columns).ends_with("       1.90 \n"));
    point.predicted_ns = 490;
    EXPECT_TRUE(table_row({.out_of_place = &point}, columns).ends_with("       0.49!\n"));
    const std::vector<Point> points{point};
    EXPECT_TRUE(holds(table_footer(points),
                      "off by 104 % in the median, by more than a factor of 2 (!) at 1 of 1"));
    point.predicted_ns.reset();
    EXPECT_TRUE(table_row({.out_of_place = &point}, columns).ends_with("        N/A \n"));
    EXPECT_NE(table_header({}, columns).find("model"), std::string::npos);
    EXPECT_EQ(table_header({}).find("model"), std::string::npos);
}

TEST(TextTable, ShowsWhatWasChosen) {
    Point point = sample_point();
    point.key.configuration.algorithm = "auto";
    point.choice = "ring/shm";
    EXPECT_NE(table_row({.out_of_place = &point}).find("  auto: ring/shm  "), std::string::npos);
}

}  // namespace tutti
