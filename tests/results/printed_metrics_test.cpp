// SPDX-License-Identifier: Apache-2.0
#include "results/comparison/printed_metrics.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "tests/base/messages.hpp"

namespace tutti {
namespace {

// "NAME = VALUE UNIT" of each reading, in order.
std::vector<std::string> found_in(const PrintedMetrics& printed) {
    std::vector<std::string> found;
    for (const std::string& name : printed.order) {
        const Reading& reading = printed.readings.at(name);
        std::string text = name + " = ";
        text += reading.trouble.empty() ? fmt::format("{:.12g}", reading.value) : "trouble";
        found.push_back(text + (reading.unit.empty() ? "" : " " + reading.unit));
    }
    return found;
}

std::vector<std::string> found(const std::string& output, const std::string& metric,
                               const std::string& errors = "") {
    return found_in(metrics_in(output, errors, {metric}));
}

// Reads the number after "t ".
std::string number(const std::string& text, const std::string& group = "([0-9.]+)") {
    const auto all = found(text, "t " + group);
    return all.size() != 1 ? fmt::format("{} readings", all.size())
                           : all[0].substr(all[0].find(" = ") + 3);
}

using Found = std::vector<std::string>;

TEST(PrintedMetrics, ReadNumbersInAnyNotation) {
    EXPECT_EQ(number("t 5"), "5");
    EXPECT_EQ(number("t 1,234.5"), "1234.5");
    EXPECT_EQ(number("t 1,234,567"), "1234567");
    EXPECT_EQ(number("t 1,234.5", "([0-9.,]+)"), "1234.5");
    EXPECT_EQ(number("t 1'234"), "1234");
    EXPECT_EQ(number("t 1_234"), "1234");
    EXPECT_EQ(number("t 1\xe2\x80\xaf"
                     "234"),
              "1234");
    EXPECT_EQ(number("t 1.5e-3"), "0.0015");
    EXPECT_EQ(number("t 5.25", "([0-9]+)"), "5.25");
    EXPECT_EQ(number("t +5", "(\\S+)"), "5");
    EXPECT_EQ(number("t 5.", "(\\S+)"), "5");
    EXPECT_EQ(number("t 1,5", "(\\S+)"), "trouble");
    EXPECT_EQ(number("t 1.2.3", "(\\S+)"), "trouble");
    EXPECT_EQ(number("t x", "(\\S+)"), "trouble");
    EXPECT_EQ(number("t inf", "(\\S+)"), "trouble");
    EXPECT_EQ(number("t 0", "(\\S+)"), "trouble");
    EXPECT_EQ(number("t ", "(\\S*)"), "trouble");
    EXPECT_EQ(number("t ", "(x)?"), "trouble");
}

TEST(PrintedMetrics, ReadFortransExponentsSuffixesAndDurations) {
    EXPECT_EQ(number("t 1e3"), "1000");
    EXPECT_EQ(number("t 5E-1"), "0.5");
    EXPECT_EQ(number("t 0.5D+02"), "50");
    EXPECT_EQ(number("t 0.5d-02", "(\\S+)"), "0.005");
    EXPECT_EQ(number("t 1.5k"), "1500");
    EXPECT_EQ(number("t 12.3M", "(\\S+)"), "12300000");
    EXPECT_EQ(number("t 5 k"), "5");
    EXPECT_EQ(number("t 1m5.25s"), "65250000000 ns");
    EXPECT_EQ(number("t 0m0.005s", "(.*)"), "5000000 ns");
    EXPECT_EQ(number("t 1h 2m 3s", "(.*)"), "3.723e+12 ns");
    EXPECT_EQ(number("t 1:05.25elapsed"), "65250000000 ns");
    EXPECT_EQ(number("t 0:01:05", "(\\S+)"), "65000000000 ns");
    EXPECT_EQ(number("t 3:10"), "3");
    EXPECT_EQ(number("t 2 h"), "7.2e+12 ns");
}

TEST(PrintedMetrics, RefuseDecimalCommas) {
    const std::string no_break = "\xc2\xa0", narrow = "\xe2\x80\xaf";
    for (const std::string& text :
         {std::string("5,2 ms"), std::string("5,25ms"), std::string("1 234,5"),
          std::string("1.234,5 ms"), "1" + no_break + "234,5", "1" + narrow + "234,56 GB/s"})
        for (const char* group : {"([0-9.]+)", "(.+)"})
            EXPECT_EQ(number("t " + text, group), "trouble") << text;
    EXPECT_EQ(number("t 1 234,567"), "1");
    EXPECT_EQ(number("t 5,200 ms"), "5200000000 ns");
    EXPECT_EQ(number("t 5,2"), "5");
    EXPECT_EQ(number("t 0.125,3 ms"), "0.125");
    EXPECT_EQ(number("t 5,2,7 ms"), "5");
    EXPECT_EQ(found("t,5,2 ms", "t,([0-9.]+)"), Found{"t,([0-9.]+) = 5"});
    const auto printed = metrics_in("t 5,2 ms", "", {"t ([0-9.]+)"});
    EXPECT_NE(printed.misused.at("t ([0-9.]+)").find("LC_ALL=C"), std::string::npos);
}

TEST(PrintedMetrics, KnowRates) {
    for (const char* rate : {"GB/s", "images/s", "1/s", "GFLOPS", "IOPS", "MiB/sec"})
        EXPECT_TRUE(is_rate(rate)) << rate;
    for (const char* other : {"ns", "", "s/it", "GB", "%", "W"})
        EXPECT_FALSE(is_rate(other)) << other;
}

TEST(PrintedMetrics, KeepColumnsOfTablesApart) {
    EXPECT_EQ(found("t,5,200,7", "t,5,([0-9]+)"), Found{"t,5,([0-9]+) = 200"});
    EXPECT_EQ(found("t,345,678", "t,([0-9]+)"), Found{"t,([0-9]+) = 345"});
    EXPECT_EQ(number("t 5,20,300"), "5");
}

TEST(PrintedMetrics, ConvertTimesToNanoseconds) {
    EXPECT_EQ(number("t 5 ns"), "5 ns");
    EXPECT_EQ(number("t 5us"), "5000 ns");
    EXPECT_EQ(number("t 5 \xc2\xb5s"), "5000 ns");
    EXPECT_EQ(number("t 5 \xce\xbcs"), "5000 ns");
    EXPECT_EQ(number("t 5 usec"), "5000 ns");
    EXPECT_EQ(number("t 5 ms, all"), "5000000 ns");
    EXPECT_EQ(number("t 5 Milliseconds"), "5000000 ns");
    EXPECT_EQ(number("t 5 s"), "5000000000 ns");
    EXPECT_EQ(number("t 2 minutes"), "120000000000 ns");
    EXPECT_EQ(number("t 5.5 ns/op"), "5.5 ns");
    EXPECT_EQ(number("t 1,000 ms"), "1000000000 ns");
    EXPECT_EQ(number("t 5 [ms]"), "5000000 ns");
    EXPECT_EQ(number("t 5 ms", "(.*)"), "5000000 ns");
    EXPECT_EQ(number("t 5.2ms/iter"), "5200000 ns");
    EXPECT_EQ(number("t 2.5s/it"), "2500000000 ns");
    EXPECT_EQ(number("t 5\xe2\x80\xafms"), "5000000 ns");
    EXPECT_EQ(found("time (ms): 5", "time.*: (.+)"), Found{"time.*: (.+) = 5000000 ns"});
}

TEST(PrintedMetrics, KeepOtherUnits) {
    for (const char* unit : {"GB/s", "MiB/s", "GBps", "Gbit/s", "GFLOPS", "TFLOP/s", "ops/s",
                             "images/s", "it/s", "MB", "%", "W", "J", "MHz", "IOPS", "/s"})
        EXPECT_EQ(number(fmt::format("t 5 {}", unit)), fmt::format("5 {}", unit));
}

TEST(PrintedMetrics, TakeNoOtherWordForAUnit) {
    for (const char* word :
         {"steps", "apples", "sizes", "s2", "ms_per_call", "Ms", "MS", "for s", "x/y"})
        EXPECT_EQ(number(fmt::format("t 5 {}", word)), "5") << word;
}

TEST(PrintedMetrics, ConvertUnitsOfOneKind) {
    EXPECT_EQ(converted({2000, "MB/s"}, "GB/s"), 2);
    EXPECT_EQ(converted({16, "Gbit/s"}, "GB/s"), 2);
    EXPECT_EQ(converted({1, "KiB"}, "B"), 1024);
    EXPECT_EQ(converted({3, "tokens/s"}, "tokens/s"), 3);
    EXPECT_EQ(converted({3, ""}, ""), 3);
    EXPECT_EQ(converted({3, ""}, "ns"), std::nullopt);
    EXPECT_EQ(converted({3, "tokens/s"}, "images/s"), std::nullopt);
    EXPECT_EQ(converted({3, "GB"}, "GB/s"), std::nullopt);
}

TEST(PrintedMetrics, AreFoundThroughColoursAndLineEnds) {
    EXPECT_EQ(number("\x1b[1;32mt \x1b[0m5\x1b[0m ms\r\n"), "5000000 ns");
    EXPECT_EQ(number("\x1b]0;title\at 5\x1b[K\n"), "5");
    EXPECT_EQ(number("\xef\xbb\xbft 5\r\n"), "5");
    EXPECT_EQ(found("\x1b[1mt 5\x1b", "^t (\\d+)$"), Found{"^t (\\d+)$ = 5"});
    EXPECT_EQ(found("x 1\r\ny 2\r\n", "^(\\w) (\\d+)$"), (Found{"x = 1", "y = 2"}));
}

TEST(PrintedMetrics, AreTheLastThatProgressLinesShowed) {
    EXPECT_EQ(number("t 9\rt 7\rt 5\r\n"), "5");
    EXPECT_EQ(number("t 5\rprogress 100%\n"), "5");
    EXPECT_EQ(found("x 9\rx 5\ny 8\ry 7\n", "(\\w) (\\d+)"), (Found{"x = 5", "y = 7"}));
    std::string progress;
    for (int i = 0; i < 1000; ++i) progress += fmt::format("step {}\r", i);
    EXPECT_EQ(number(progress + "t 5\n"), "5");
}

TEST(PrintedMetrics, AreWhatATerminalShows) {
    EXPECT_EQ(number("t 5\x1b(B\x1b[m ms"), "5000000 ns");
    EXPECT_EQ(number("t 9\b5"), "5");
    EXPECT_EQ(number("t 98\x1b[2D5"), "5");
    EXPECT_EQ(number("t 9\x1b[2K\x1b[1Gt 5"), "5");
    EXPECT_EQ(number("t 9\n\x1b[2J\x1b[Ht 5\n"), "5");
    EXPECT_EQ(number("\x1b]0;C:\\run\x1b\\t 5\n"), "5");
    EXPECT_EQ(number("\x1b]0;open\nt 5\n"), "5");
    EXPECT_EQ(number("\bt 5\x1b[9999999999999999999D\x1b[B\x1b[99At 6\x1b["), "6");
    // Two bars, as tqdm draws them: the second lies a line below the first.
    const std::string upper = "\rupper: 50% 9.0it/s", lower = "\n\rlower: 50% 8.0it/s\x1b[A";
    const std::string last = "\n\rlower: 100% 5.0it/s\x1b[A\rupper: 100% 6.0it/s\n\n";
    EXPECT_EQ(found("", "(\\w+): +\\d+% ([0-9.]+)it/s", upper + lower + upper + lower + last),
              (Found{"upper = 6 it/s", "lower = 5 it/s"}));
    EXPECT_EQ(found("", "lower.* ([0-9.]+)it/s", upper + lower + last),
              Found{"lower.* ([0-9.]+)it/s = 5 it/s"});
}

TEST(PrintedMetrics, AreFoundInJsonLines) {
    const std::string one = "starting\n{\"t\": 5}\ndone\n";
    EXPECT_EQ(found(one, "/t"), Found{"/t = 5"});
    EXPECT_EQ(found("log\n", "/t", one), Found{"/t = 5"});
    const std::string lines = "{\"t\": 5}\r\nlog\r\n{\"t\": 6, \"unit\": \"ms\"}\r\n{\"t\": \n";
    EXPECT_EQ(found(lines, "/*/t"), (Found{"/0/t = 5", "/1/t = 6000000 ns"}));
    EXPECT_EQ(found("", "/1/t", lines), Found{"/1/t = 6000000 ns"});
    const auto printed = metrics_in(lines, "", {"/t"});
    EXPECT_NE(printed.misused.at("/t").find("/*/t"), std::string::npos);
    EXPECT_TRUE(printed.order.empty());
}

TEST(PrintedMetrics, AreRefusedWhereThereIsNoNumber) {
    for (const char* output : {"", "\n", "{\"t\": NaN}", "{\"t\": null}", "{\"t\": \"fast\"}", "t"})
        for (const char* metric : {"/t", "t ([0-9.]+)"}) {
            const auto printed = metrics_in(output, output, {metric});
            EXPECT_TRUE(printed.order.empty()) << output;
            EXPECT_EQ(printed.misused.count(metric), 1u) << output;
        }
    for (const char* text : {"nan", "NaN", "-nan", "-5", "1e-400", "1e400", "N/A", "0x10"})
        EXPECT_EQ(number(fmt::format("t {}", text), "(\\S+)"), "trouble") << text;
}

TEST(PrintedMetrics, OfManyLinesAreNumbered) {
    std::string output;
    for (int i = 1; i <= 300; ++i) output += fmt::format("step {} ms\n", i);
    const auto printed = metrics_in(output, "", {"(step) (\\d+)", "step (\\d+)"});
    ASSERT_EQ(printed.order.size(), 301u);
    EXPECT_EQ(printed.order[299], "step (300)");
    EXPECT_EQ(printed.readings.at("step (300)").value, 300e6);
    EXPECT_EQ(printed.readings.at("step (\\d+)").value, 1e6);
}

TEST(PrintedMetrics, AreFoundInStderrIfStdoutHasNone) {
    EXPECT_EQ(found("hello", "t (\\d+)", "t 5"), Found{"t (\\d+) = 5"});
    EXPECT_EQ(found("t 4", "(t|u) (\\d+)", "t 5\nu 6\nu 7"),
              (Found{"t = 4", "u = 6", "u (2) = 7"}));
    EXPECT_EQ(found("t 4", "t (\\d+)", "t 5"), Found{"t (\\d+) = 4"});
    EXPECT_EQ(found("log", "/t", R"({"t": 5})"), Found{"/t = 5"});
    EXPECT_EQ(found(R"({"t": 4})", "/t", R"({"t": 5})"), Found{"/t = 4"});
}

TEST(PrintedMetrics, CountLinesThatAreTooLong) {
    const std::string longest(longest_searched_line - 3, 'x');
    EXPECT_EQ(found(longest + " t 5", "t (\\d+)").size(), 0u);
    EXPECT_EQ(found(longest.substr(1) + " t 5", "t (\\d+)").size(), 1u);
    const auto printed = metrics_in(longest + " t 5\nt 6\n", "", {"t (\\d+)", "(t) (6)"});
    EXPECT_EQ(printed.long_lines, 1);
    EXPECT_EQ(found_in(printed), (Found{"t (\\d+) = 6", "t = 6"}));
    const auto none = metrics_in(longest + " t 5\n", "", {"t (\\d+)"});
    EXPECT_TRUE(holds(none.misused.at("t (\\d+)"), "1 lines over 4096 bytes"));
}

TEST(PrintedMetrics, AreEachThatAStarInAPointerMatches) {
    const std::string json = R"({"runs": [{"name": "a", "t": 1}, {"name": "b"}, {"t": "2 ms"}],
        "by": {"x/y": {"t": 3}, "z": {"t": {}}}, "odd": {"*": {"t": 4}, "q": {"t": 5}}})";
    EXPECT_EQ(found(json, "/runs/*/t"), (Found{"/runs/0/t = 1", "/runs/2/t = 2000000 ns"}));
    EXPECT_EQ(found(json, "/by/*/t"), Found{"/by/x~1y/t = 3"});
    EXPECT_EQ(found(json, "/*/*/t"),
              (Found{"/by/x~1y/t = 3", "/odd/*/t = 4", "/runs/0/t = 1", "/runs/2/t = 2000000 ns"}));
    EXPECT_EQ(found(json, "/odd/*/t"), Found{"/odd/*/t = 4"});
    EXPECT_EQ(found("[1, 2]", "/*"), (Found{"/0 = 1", "/1 = 2"}));
    EXPECT_FALSE(metrics_in(json, "", {"/runs/*/u"}).misused.empty());
    EXPECT_FALSE(metrics_in(json, "", {"/runs/0/name"}).misused.empty());
}

TEST(PrintedMetrics, HaveTheUnitOfTheSameJsonObject) {
    const std::string json = R"({"benchmarks": [{"real_time": 2, "time_unit": "us", "items": 7}],
        "rate": {"value": 3, "unit": "GB/s"}, "plain": {"value": 4, "unit": "apples"}})";
    EXPECT_EQ(found(json, "/benchmarks/0/real_time"), Found{"/benchmarks/0/real_time = 2000 ns"});
    EXPECT_EQ(found(json, "/benchmarks/0/items"), Found{"/benchmarks/0/items = 7"});
    EXPECT_EQ(found(json, "/rate/value"), Found{"/rate/value = 3 GB/s"});
    EXPECT_EQ(found(json, "/plain/value"), Found{"/plain/value = 4"});
}

}  // namespace
}  // namespace tutti
