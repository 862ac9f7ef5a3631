// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "base/json_value.hpp"
#include "base/json_writer.hpp"
#include "samples.hpp"

namespace tutti {
namespace {

template <class Kind>
void expect_round_trip(const Kind& record) {
    const std::string line = to_json_line(record);
    EXPECT_FALSE(holds(line, "\n"));
    EXPECT_TRUE(line.starts_with(R"({"v":1,"kind":")")) << line;
    EXPECT_EQ(std::get<Kind>(parse_json_line(line)), record) << line;
}

std::string complaint_about_line(std::string_view line) {
    return refusal_by([&] { parse_json_line(line); });
}

}  // namespace

// The fields of each kind are in fields_by_name_test.cpp.
TEST(Records, ComeBackAsTheyWereWritten) {
    expect_round_trip(
        Session{.argv = {"tutti", "a \"b\"\n\t"}, .seed = ~std::uint64_t{0}, .resume_of = "h"});
    expect_round_trip(Session{});
    expect_round_trip(
        Launch{.nranks = 2,
               .ppn = 1,
               .hosts = {{.name = "n0", .cores = 2, .loadavg1 = 0.25}, {.name = "n1"}},
               .ranks = {{.rank = Rank{0}, .host = "n0", .numa = 0}, {.rank = Rank{1}}},
               .clock = ClockSync{.mode = "ping-pong", .offset_ns = {0, 1'000'000'000'012}}});
    expect_round_trip(sample_point());
    expect_round_trip(skipped_point());
    expect_round_trip(Fail{.rank = Rank{0}});
    expect_round_trip(Fail{});
    expect_round_trip(sample_limits());
    expect_round_trip(Limits{});
    expect_round_trip(Numerics{.of = {{.max_ulp = 1.5}, {.draw = Draw::wide}}});
    expect_round_trip(Numerics{});
}

TEST(Records, AKeyNamesRadixAndChannelsUnlessDefault) {
    for (const char* name : {"radix", "channels"})
        EXPECT_FALSE(holds(to_json_line(sample_point()), name));
}

TEST(Records, ASkippedPointHasAReasonAndNoTimes) {
    const std::string line = to_json_line(skipped_point());
    EXPECT_NE(line.find(R"("skipped":"needs a power of two; 6 ranks given")"), std::string::npos);
    EXPECT_FALSE(holds(line, "t_ns"));
    EXPECT_FALSE(holds(line, "busbw"));
}

TEST(Records, TextThatIsNoUtf8IsRepaired) {
    const Fail fail{.stderr_tail = "\xff\xfe broken"};
    const auto back = std::get<Fail>(parse_json_line(to_json_line(fail)));
    EXPECT_TRUE(holds(back.stderr_tail, " broken"));
}

// A record of six calls or more without its interval is damaged.
TEST(Records, HaveAnIntervalFromSixCallsOn) {
    for (const int calls : {5, 6}) {
        Point point = sample_point();
        point.time.n = static_cast<std::size_t>(calls);
        Json record = Json::parse(to_json_line(point));
        EXPECT_EQ(record.contains("ci95_p50_ns"), calls == 6);
        record.erase("ci95_p50_ns");
        if (calls == 5)
            parse_json_line(record.dump());
        else
            EXPECT_TRUE(holds(complaint_about_line(record.dump()), "'ci95_p50_ns'"));
    }
}

TEST(Records, UnknownKindsAndFieldsAreIgnored) {
    EXPECT_TRUE(std::holds_alternative<std::monostate>(
        parse_json_line(R"({"v":1,"kind":"opinion","metric":"x"})")));
    const auto end = std::get<End>(
        parse_json_line(R"({"v":1,"kind":"end","launch":1,"ok":true,"wall_ns":5,"unknown":[{}]})"));
    EXPECT_EQ(end.wall_ns, 5);
}

TEST(Records, NameTheFaultOfALine) {
    EXPECT_TRUE(complaint_about_line("{").starts_with("record:1: invalid JSON"));
    EXPECT_THROW(parse_json_line("{"), NotJson);
    const struct {
        const char *line, *key;
    } rows[] = {
        {"[1]", "\"v\""},
        {R"({"v":2,"kind":"end"})", "version 2"},
        {R"({"v":1,"kind":"end","launch":1,"ok":true})", "'wall_ns'"},
        {R"({"v":1,"kind":"end","launch":"1","ok":true,"wall_ns":1})", "'launch'"},
        {R"({"v":1,"kind":"end","launch":1e30,"ok":true,"wall_ns":1})", "'launch'"},
        {R"({"v":1,"kind":"end","launch":4294967297,"ok":true,"wall_ns":1})", "'launch'"},
        {R"({"v":1})", "'kind'"},
    };
    for (const auto& [line, key] : rows) {
        const std::string complaint = complaint_about_line(line);
        EXPECT_TRUE(complaint.starts_with("record:1: ")) << complaint;
        EXPECT_TRUE(holds(complaint, key));
    }
}

}  // namespace tutti
