// SPDX-License-Identifier: Apache-2.0
#include "autotune/table/table_json.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <limits>

#include "table_samples.hpp"
#include "tests/base/messages.hpp"

namespace tutti {
namespace {

using test::RandomTables;

// A whole table in few lines, with a place to damage in each.
const std::string small = R"({
"format": "tutti-table", "version": 1,
"sections": [{
"setting": {"ranks": 4, "ranks_per_host": 2, "topology": "0123456789abcdef"},
"subject": {"collective": "all_reduce", "types": "native", "ops": "plain", "buffers": "registered"},
"ranges": [
{"from": 0, "choice": {"impl": "tutti", "algorithm": "ring", "transport": "shm"}, "origin": "measured",
"evidence": [{"size": 8, "time": {"p50": 5, "low": 4, "high": 6, "n": 9}}]},
{"from": 64, "choice": {"impl": "mpi"}, "origin": "kept"}
]}]})";

std::string with(std::string_view what, std::string_view instead) {
    std::string text = small;
    const auto at = text.find(what);
    EXPECT_NE(at, std::string::npos) << what;
    return text.replace(at, what.size(), instead);
}

std::string error_of(std::string_view text) {
    return thrown_by([&] { parse_table(text, "FILE"); }).text;
}

bool is_one_line_with_a_place(const std::string& error) {
    return error.starts_with("FILE:") && error[5] >= '1' && error[5] <= '9' &&
           error.find('\n') == std::string::npos;
}

TEST(TableJson, BringsBackEveryTable) {
    for (unsigned seed = 0; seed < 200; ++seed) {
        const Table table = RandomTables(seed).table(4);
        ASSERT_EQ(parse_table(to_json(table), "FILE"), table) << seed;
    }
}

TEST(TableJson, IsTheSameTextForTheSameTable) {
    const Table table = RandomTables(1).table(4);
    EXPECT_EQ(to_json(parse_table(to_json(table), "FILE")), to_json(table));
}

TEST(TableJson, ReadsTheFirstVersionForEver) {
    const Table table = read_table(AUTOTUNE_TEST_DATA "/table_v1.json");
    ASSERT_EQ(table.sections.size(), 2u);
    const Section& reduction = table.sections[0];
    EXPECT_EQ(reduction.job_shape, (JobShape{2, 2, "0123456789abcdef"}));
    EXPECT_EQ(reduction.subject, test::subject_of(Collective::all_reduce));
    EXPECT_TRUE(reduction.is_complete);
    ASSERT_EQ(reduction.ranges.size(), 2u);
    EXPECT_EQ(reduction.ranges[0].choice, test::ours("recursive-doubling", "shm"));
    const Range& large = reduction.ranges[1];
    EXPECT_EQ(large.from, Bytes{65536});
    EXPECT_EQ(large.choice,
              (Configuration{"tutti", "chain", "mpi", /*order=*/"", Bytes{61440}, /*radix=*/4,
                             /*channels=*/2}));
    EXPECT_EQ(large.origin, Origin::predicted);
    ASSERT_EQ(large.evidence.size(), 1u);
    EXPECT_EQ(large.evidence[0].time, (TimeInterval{2000, 1900.5, 2100, 20}));
    EXPECT_EQ(large.evidence[0].runner_up, (Configuration{.impl = "mpi", .algorithm = "ring"}));
    EXPECT_EQ(large.evidence[0].hold_out->default_.p50, 3015);
    EXPECT_EQ(large.evidence[0].hold_out->gain_high, 1.6);
    const Section& broadcast = table.sections[1];
    EXPECT_EQ(broadcast.subject, test::subject_of(Collective::broadcast, BufferKind::unregistered));
    EXPECT_EQ(broadcast.ranges[0].origin, Origin::kept);
}

TEST(TableJson, LeavesOutDefaults) {
    const std::string text = to_json(parse_table(small, "FILE"));
    for (const char* default_field : {"segment", "radix", "channels", "complete", "measured_at",
                                      "model", "runner_up", "hold_out"})
        EXPECT_FALSE(holds(text, default_field)) << default_field;
}

TEST(TableJson, IgnoresFieldsOfALaterRevision) {
    EXPECT_EQ(parse_table(with(R"("ranks": 4)", R"("new": [{"a": 1}], "ranks": 4)"), "FILE"),
              parse_table(small, "FILE"));
}

TEST(TableJson, LetsUnknownAlgorithmsThrough) {
    const Table table = parse_table(with("\"ring\"", "\"of-tomorrow\""), "FILE");
    EXPECT_EQ(table.sections[0].ranges[0].choice.algorithm, "of-tomorrow");
}

TEST(TableJson, RefusesWhatIsCutOffAnywhere) {
    for (std::size_t length = 0; length < small.size(); ++length) {
        const std::string error = error_of(std::string_view(small).substr(0, length));
        ASSERT_TRUE(is_one_line_with_a_place(error)) << length << ": " << error;
    }
    EXPECT_EQ(error_of(small), "");
}

TEST(TableJson, EndsWithATableOrOneLineWhateverByteIsFlipped) {
    for (std::size_t at = 0; at < small.size(); ++at)
        for (int bit = 0; bit < 8; ++bit) {
            std::string text = small;
            text[at] = static_cast<char>(text[at] ^ (1 << bit));
            const std::string error = error_of(text);
            ASSERT_TRUE(error.empty() || is_one_line_with_a_place(error)) << text << error;
        }
}

struct Damage {
    const char* what;
    const char* instead;
    int line;
    const char* says;
};

TEST(TableJson, NamesLineAndFaultOfEveryDamage) {
    const Damage damages[] = {
        {"tutti-table", "machine", 1, "not a tuning table"},
        {"\"version\": 1", "\"version\": 0", 2, "'version'"},
        {"\"version\": 1", "\"version\": \"1\"", 2, "'version'"},
        {"\"version\": 1", "\"version\": 2", 2, "newer tutti"},
        {"\"ranks\": 4", "\"ranks\": 0", 4, "0 ranks"},
        {"\"ranks\": 4", "\"ranks\": 20000000", 4, "20000000 ranks"},
        {"\"ranks\": 4", "\"ranks\": 4.5", 4, "not a whole number"},
        {"\"ranks\": 4", "\"ranks\": -4", 4, "-4 ranks"},
        {"\"ranks\": 4, ", "", 4, "field 'ranks'"},
        {"\"ranks_per_host\": 2", "\"ranks_per_host\": 5", 4, "5 of its 4 ranks"},
        {"0123456789abcdef", "\\u001b[31m", 4, "control characters"},
        {"\"0123456789abcdef\"", "7", 4, "not a string"},
        {"all_reduce", "all_reduc", 5, "did you mean 'all_reduce'"},
        {"all_reduce", "broadcast", 5, "broadcast"},
        {"\"native\"", "\"float\"", 5, "class of types"},
        {"\"plain\"", "\"sum\"", 5, "class of operations"},
        {"\"registered\"", "\"managed\"", 5, "unknown buffers 'managed'"},
        {"\"from\": 0", "\"from\": 1", 7, "begins at 1 bytes"},
        {"\"from\": 64", "\"from\": 0", 9, "begins at 0"},
        {"\"algorithm\": \"ring\", ", "", 7, "lacks its algorithm"},
        {"\"impl\": \"mpi\"", "\"impl\": \"\"", 9, "whose implementation"},
        {"\"impl\": \"mpi\"", "\"impl\": \"mpi\", \"channels\": 0", 9, "'channels' of 0"},
        {"\"impl\": \"mpi\"", "\"impl\": \"mpi\", \"segment\": -1", 9, "'segment' of -1"},
        {"\"measured\"", "\"guessed\"", 7, "unknown origin 'guessed'"},
        {"\"size\": 8", "\"size\": -8", 8, "negative size"},
        {"\"low\": 4", "\"low\": -4", 8, "negative time"},
        {"\"low\": 4", "\"low\": 5.5", 8, "median of 5"},
        {"\"high\": 6", "\"high\": 1e999", 8, "too large"},
        {"\"high\": 6", "\"high\": null", 8, "not a number"},
        {"\"n\": 9", "\"n\": -9", 8, "number of samples"},
        {"\"n\": 9}", "\"n\": 9}, \"runner_up_time\": {\"p50\": 1, \"low\": 1, \"high\": 1}", 8,
         "does not name"},
        {"{\"from\": 64", "7, {\"from\": 64", 9, "not an object"},
        {"\"sections\": [", "\"sections\": {}, \"x\": [", 3, "not a list"},
    };
    for (const Damage& damage : damages) {
        const std::string error = error_of(with(damage.what, damage.instead));
        EXPECT_TRUE(is_one_line_with_a_place(error)) << error;
        EXPECT_TRUE(error.starts_with("FILE:" + std::to_string(damage.line) + ": ")) << error;
        EXPECT_TRUE(holds(error, damage.says));
    }
}

TEST(TableJson, RefusesSectionsWithoutRangesAndSectionsTwice) {
    Table table = parse_table(small, "FILE");
    table.sections.push_back(table.sections.front());
    EXPECT_TRUE(holds(error_of(to_json(table)), "'sections[1]' appears twice"));
    table.sections.pop_back();
    table.sections[0].ranges.clear();
    EXPECT_TRUE(holds(error_of(to_json(table)), "is empty"));
}

TEST(TableJson, RefusesGainsOutsideTheirInterval) {
    Table table = parse_table(small, "FILE");
    auto& hold_out = table.sections[0].ranges[0].evidence[0].hold_out.emplace();
    hold_out = {.library = "mpi", .gain = 2, .gain_low = 1.5, .gain_high = 1.9};
    EXPECT_TRUE(holds(error_of(to_json(table)), "gain of 2"));
    hold_out.gain_high = 2;
    EXPECT_EQ(error_of(to_json(table)), "");
}

class TableFile : public testing::Test {
protected:
    TableFile() : folder_(testing::TempDir() + "tutti_table_file") {
        std::filesystem::remove_all(folder_);
    }
    ~TableFile() override { std::filesystem::remove_all(folder_); }
    std::filesystem::path folder_;
};

TEST_F(TableFile, IsReplacedAsAWhole) {
    const auto path = folder_ / "deep" / "table.json";
    for (unsigned seed = 0; seed < 2; ++seed) {
        const Table table = RandomTables(seed).table(3);
        keep_table(table, path);
        EXPECT_EQ(read_table(path), table);
    }
    const std::filesystem::directory_iterator files(path.parent_path());
    EXPECT_EQ(std::distance(begin(files), end(files)), 1) << "a half-written file was left";
}

TEST_F(TableFile, StaysWhereTheNewTableCouldNotBeReadAgain) {
    const auto path = folder_ / "table.json";
    const Table good = parse_table(small, "FILE");
    keep_table(good, path);
    Table bad = good;
    bad.sections[0].ranges[0].evidence[0].time.p50 = std::numeric_limits<double>::quiet_NaN();
    EXPECT_THROW(keep_table(bad, path), Error);
    EXPECT_EQ(read_table(path), good);
}

TEST_F(TableFile, HasNoChoicesWhereItIsBlank) {
    const auto path = folder_ / "table.json";
    std::filesystem::create_directories(folder_);
    std::ofstream(path) << "\n";
    EXPECT_EQ(read_table(path), Table{});
    EXPECT_THROW(read_choices(path), Error);
    keep_table(parse_table(small, "FILE"), path);
    EXPECT_EQ(read_choices(path), parse_table(small, "FILE"));
}

TEST_F(TableFile, SaysWhereItCannotBe) {
    EXPECT_THROW(read_table(folder_ / "none.json"), Error);
    std::filesystem::create_directories(folder_);
    EXPECT_THROW(read_table(folder_), Error);
    std::ofstream(folder_ / "file") << "x";
    EXPECT_THROW(keep_table(parse_table(small, "FILE"), folder_ / "file" / "table.json"), Error);
}

}  // namespace
}  // namespace tutti
