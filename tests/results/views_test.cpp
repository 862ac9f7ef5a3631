// SPDX-License-Identifier: Apache-2.0
#include "results/views/views.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "tests/base/messages.hpp"

namespace tutti {
namespace {

using nlohmann::json;

VerdictRecord verdict_of(const std::string& metric, Change change, double ratio) {
    return {.session = "s",
            .metric = metric,
            .verdict = change,
            .ratio = ratio,
            .low = ratio - 0.02,
            .high = ratio + 0.02,
            .noise = 0.01,
            .a_ns = 2000,
            .b_ns = 2000 * ratio,
            .launches = 12,
            .rule = "why"};
}

ComparisonRecords sample() {
    ComparisonRecords records{.session = {.id = "s", .t = "2026-01-31T12:00:00.000Z"},
                              .file = "r.jsonl"};
    records.session.tool.version = "0.1.0";
    records.verdicts = {
        verdict_of("same", Change::same, 1), verdict_of("a bit", Change::slower, 1.05),
        verdict_of("much", Change::slower, 1.5), verdict_of("who knows", Change::undecided, 1.02),
        verdict_of("better", Change::faster, 0.8)};
    for (int launch = 1; launch <= 2; ++launch)
        records.pairs.push_back({.session = "s",
                                 .launch = launch,
                                 .metric = "much",
                                 .seen = {.a_ns = 2000. + launch, .b_ns = 3000. + launch}});
    return records;
}

std::size_t count_in(const std::string& text, const std::string& part) {
    std::size_t count = 0;
    for (std::size_t at = text.find(part); at != text.npos; at = text.find(part, at + 1)) ++count;
    return count;
}

TEST(Views, MarkdownBeginsWithTheWorst) {
    const std::string text = as_markdown(sample());
    EXPECT_EQ(text.find("### tutti compare: 2 slower, 1 faster, 1 the same, 1 undecided\n"), 0U);
    EXPECT_TRUE(holds(text,
                      "| much | 2 us | 3 us | +50.0 % | +48.0 % .. +52.0 % | 1.0 % | slower |\n"
                      "| a bit | 2 us | 2.1 us | +5.0 % |"));
    EXPECT_LT(text.find("| better |"), text.find("| who knows |"));
    EXPECT_LT(text.find("| who knows |"), text.find("| same |"));
}

TEST(Views, MarkdownIsEmptyIfAllMetricsAreTheSame) {
    ComparisonRecords records = sample();
    std::erase_if(records.verdicts,
                  [](const VerdictRecord& verdict) { return verdict.verdict != Change::same; });
    EXPECT_EQ(as_markdown(records), "");
    EXPECT_EQ(as_github_annotations(records), "");
}

// Undecided must not look like the same.
TEST(Views, AnUndecidedMetricIsAWarningWithWhatWouldDecideIt) {
    ComparisonRecords records = sample();
    std::erase_if(records.verdicts, [](const VerdictRecord& verdict) {
        return verdict.verdict != Change::undecided && verdict.verdict != Change::same;
    });
    VerdictRecord& open = records.verdicts[1];
    open.visible = 0.063;
    open.to_decide = "use --budget 7m";
    const std::string annotations = as_github_annotations(records);
    EXPECT_EQ(annotations.find("::warning title=tutti compare::who knows is undecided: "), 0U);
    EXPECT_EQ(count_in(annotations, "\n"), 1U);
    EXPECT_TRUE(holds(annotations, {"2.04 us", "+2.0 %25", "6.3 %25", "--budget 7m"}));
    EXPECT_TRUE(holds(as_markdown(records), {"1 undecided\n\n- **Undecided:** who knows: ", "6.3 %",
                                             "--budget 7m\n\n| metric |", "| undecided |\n"}));
    EXPECT_TRUE(holds(as_table(records), {"\n# undecided: who knows: ", "6.3 %", "--budget 7m\n"}));
    EXPECT_TRUE(holds(as_junit(records), {"6.3 %", "--budget 7m"}));
    EXPECT_TRUE(holds(as_csv(records), ",0,\"use --budget 7m\"\n"));
    open.to_decide.clear();  // an older file
    EXPECT_TRUE(holds(as_markdown(records), "; why\n"));
    for (int i = 0; i < 30; ++i) records.verdicts.push_back(open);
    EXPECT_EQ(count_in(as_github_annotations(records), "::warning "), 10U);
    EXPECT_TRUE(holds(as_markdown(records), "- 21 more are undecided\n"));
    EXPECT_TRUE(holds(as_table(records), "# undecided: 26 more\n"));
}

TEST(Views, ThatNothingWasComparedIsAWarning) {
    EXPECT_EQ(count_in(as_github_annotations({}), "::warning "), 1U);
    EXPECT_EQ(count_in(as_markdown({}), "### tutti compare: nothing compared\n"), 1U);
}

// A rate of 25.1 images/s that falls to 21.9.
TEST(Views, ARateReadsAsItsOwnFallInItsOwnUnit) {
    ComparisonRecords records = sample();
    VerdictRecord rate = verdict_of("rate", Change::slower, 21.9 / 25.1);
    rate.a_ns = 25.1;
    rate.b_ns = 21.9;
    rate.unit = "images/s";
    rate.higher_is_better = true;
    records.verdicts = {rate};
    const std::string said = "21.9 images/s instead of 25.1 images/s";
    EXPECT_TRUE(holds(as_markdown(records), "| 25.1 images/s | 21.9 images/s | -12.7 % |"));
    EXPECT_TRUE(holds(as_github_annotations(records),
                      "::error title=tutti compare::rate is slower: " + said + ", -12.7 %25 ("));
    EXPECT_TRUE(holds(as_junit(records), said));
    EXPECT_TRUE(holds(as_junit(records), {">-12.7 % against A", "time=\"0.000000000\""}));
    EXPECT_TRUE(
        holds(as_table(records), {"# metric A (images/s) B (images/s) ",
                                  "\n  rate           25.1         21.9   -12.7 %", "better\n"}));
    EXPECT_TRUE(holds(as_csv(records), ",,,12,1,turns,\"why\",\"images/s\",25.1,21.9,1,"));
    const json issue = json::parse(as_code_quality(records))[0];
    EXPECT_EQ(issue["severity"], "critical");
    EXPECT_TRUE(holds(issue["description"].get<std::string>(), said));
    records.verdicts.push_back(verdict_of("time", Change::same, 1));
    EXPECT_TRUE(holds(as_table(records), {"better: rate\n", " 25.1 images/s "}));
}

TEST(Views, TimesHaveAUnitThatSuits) {
    ComparisonRecords records = sample();
    records.wall_ns = 1'500'000'000;
    VerdictRecord step = verdict_of("step", Change::slower, 1.2);
    step.a_ns = 100e6;
    step.b_ns = 120e6;
    records.verdicts = {step};
    EXPECT_TRUE(holds(as_markdown(records), "| 100 ms | 120 ms |"));
    EXPECT_TRUE(holds(as_table(records), {"A (ms)     B (ms)", " 100        120 "}));
    EXPECT_TRUE(holds(as_junit(records), {"time=\"1.500\"", "time=\"0.120000000\""}));
    step.a_ns = 850;
    step.b_ns = 3.25e9;
    records.verdicts = {step};
    EXPECT_TRUE(holds(as_markdown(records), "| 850 ns | 3.25 s |"));
    EXPECT_TRUE(holds(as_table(records), " 0.85    3250000 "));
}

TEST(Views, MarkdownStaysBelowWhatGitHubTakes) {
    ComparisonRecords records = sample();
    for (int i = 0; i < 2000; ++i)
        records.verdicts.push_back(
            verdict_of("all_reduce " + std::to_string(i), Change::slower, 1.1));
    const std::string text = as_markdown(records);
    EXPECT_LT(text.size(), 60'000U);
    const auto left_out = 2005 - count_in(text, " us |") / 2;
    EXPECT_TRUE(holds(text, std::to_string(left_out) + " more rows"));
}

TEST(Views, NamesCannotEndTheirPlace) {
    ComparisonRecords records = sample();
    records.verdicts = {verdict_of("a|b <img> \"q\" 1%\n, c", Change::slower, 1.5)};
    EXPECT_NE(as_markdown(records).find(R"(| a\|b &lt;img> "q" 1%?, c #&#8203;)"),
              std::string::npos)
        << as_markdown(records);
    EXPECT_EQ(count_in(as_github_annotations(records), "\n"), 1U);
    EXPECT_TRUE(holds(as_github_annotations(records), "1%25?, c"));
    EXPECT_TRUE(holds(as_open_metrics(records), R"(metric="a|b <img> \"q\" 1%?, c #)"));
    EXPECT_NE(as_junit(records).find("a|b &lt;img&gt; &quot;q&quot; 1%"), std::string::npos)
        << as_junit(records);
    EXPECT_TRUE(holds(as_csv(records), "\"a|b <img> \"\"q\"\" 1%"));
}

TEST(Views, NamesThatHadToBeCutRemainTwo) {
    ComparisonRecords records = sample();
    const std::string name(100'000, 'x');
    records.verdicts = {verdict_of(name, Change::slower, 1.5),
                        verdict_of(name + "y", Change::slower, 1.5),
                        verdict_of("\xff", Change::slower, 1.5)};
    const json metrics = json::parse(as_bencher(records));
    EXPECT_EQ(metrics.size(), 3U);
    for (const auto& [shown, value] : metrics.items()) EXPECT_LE(shown.size(), 250U);
    for (const View& view : views()) EXPECT_LT(view.text(records).size(), 5000U) << view.name;
}

TEST(Views, MessagesOfSeveralLinesStayInOne) {
    ComparisonRecords records = sample();
    records.verdicts.clear();
    records.wrong = {"100%\n::error::x", "100%\n::error::x"};
    EXPECT_EQ(as_github_annotations(records),
              "::error title=tutti compare::wrong: 100%25%0A::error::x\n"
              "::error title=tutti compare::wrong: 100%25%0A::error::x\n");
    EXPECT_EQ(count_in(as_markdown(records), "- **Wrong:** 100% ::error::x\n"), 2U);
    EXPECT_TRUE(holds(as_junit(records), "results are right (2)\""));
}

TEST(Views, AnnotationsAreAtMostTenOfAKind) {
    ComparisonRecords records = sample();
    for (int i = 0; i < 30; ++i)
        records.verdicts.push_back(verdict_of(std::to_string(i), Change::slower, 1.1));
    const std::string text = as_github_annotations(records);
    EXPECT_EQ(count_in(text, "::error "), 10U);
    EXPECT_EQ(count_in(text, "::notice "), 1U);
    EXPECT_EQ(text.find("::error title=tutti compare::much is slower: 3 us "), 0U) << text;
}

TEST(Views, JUnitHasACaseForEachMetric) {
    const std::string text = as_junit(sample());
    EXPECT_TRUE(holds(text, {R"(tests="5" failures="2" errors="0" skipped="1")",
                             R"(timestamp="2026-01-31T12:00:00")"}));
    EXPECT_EQ(count_in(text, "<testcase "), 5U);
    EXPECT_EQ(count_in(text, "<failure "), 2U);
    EXPECT_TRUE(holds(text, ">+50.0 % against A (+48.0 % .. +52.0 %), 3 us"));
    EXPECT_NE(text.find(" 1.0 %: why</failure>"), std::string::npos)  // GitLab shows the text
        << text;
    EXPECT_EQ(count_in(text, "<skipped "), 1U);
    EXPECT_LT(text.find("<properties"), text.find("<testcase"));
    EXPECT_LT(text.rfind("</testcase>"), text.find("<system-out"));
}

TEST(Views, ActionBenchmarkHasNumbersInMicroseconds) {
    const json entries = json::parse(as_action_benchmark(sample()));
    ASSERT_EQ(entries.size(), 5U);
    EXPECT_EQ(entries[2]["name"], "much");
    EXPECT_EQ(entries[2]["unit"], "us");
    EXPECT_EQ(entries[2]["value"], 3.0);
    EXPECT_EQ(entries[2]["range"], "± 0.04");
}

TEST(Views, BencherHasALatencyWithItsInterval) {
    const json metrics = json::parse(as_bencher(sample()));
    EXPECT_EQ(metrics["much"]["latency"]["value"], 3000.);
    EXPECT_NEAR(metrics["much"]["latency"]["lower_value"].get<double>(), 2960, 1e-6);
    EXPECT_NEAR(metrics["much"]["latency"]["upper_value"].get<double>(), 3040, 1e-6);
}

TEST(Views, GoogleBenchmarkTakesLaunchesForRepetitions) {
    const json a = json::parse(as_google_benchmark_a(sample()));
    const json b = json::parse(as_google_benchmark_b(sample()));
    ASSERT_EQ(b["benchmarks"].size(), 2U);
    EXPECT_EQ(b["context"]["json_schema_version"], 1);
    for (int i = 0; i < 2; ++i) {
        const json& entry = b["benchmarks"][static_cast<std::size_t>(i)];
        EXPECT_EQ(entry["name"], "much");
        EXPECT_EQ(entry["run_type"], "iteration");
        EXPECT_EQ(entry["repetitions"], 2);
        EXPECT_EQ(entry["repetition_index"], i);
        EXPECT_EQ(entry["real_time"], 3001. + i);
        EXPECT_EQ(a["benchmarks"][static_cast<std::size_t>(i)]["real_time"], 2001. + i);
    }
}

// No two values are the same, so that a swap of values, sides or units is seen.
TEST(Views, HaveEachValueInItsPlace) {
    ComparisonRecords records = sample();
    records.verdicts = {{.session = "s",
                         .metric = "m",
                         .verdict = Change::slower,
                         .ratio = 1.5,
                         .low = 1.25,
                         .high = 1.75,
                         .confidence = 0.875,
                         .p = 0.125,
                         .noise = 0.0625,
                         .visible = 0.03125,
                         .a_ns = 2e6,
                         .b_ns = 3e6,
                         .launches = 12,
                         .stage = 2,
                         .rule = "why"}};
    EXPECT_EQ(as_csv(records),
              "metric,verdict,ratio,low,high,confidence,p,noise,mde,a_ns,b_ns,n_launch,stage,"
              "method,rule,unit,a,b,higher_is_better,to_decide\n"
              "\"m\",slower,1.5,1.25,1.75,0.875,0.125,0.0625,0.03125,2e+06,"
              "3e+06,12,2,turns,\"why\",\"ns\",2e+06,3e+06,0,\"\"\n");
    // A mean after too few launches: it has no times, no interval and no smallest change.
    EXPECT_TRUE(holds(as_csv({.verdicts = {{.metric = "mean"}}}),
                      "\n\"mean\",undecided,1,,,0.98,1,0,,,,0,1,turns,\"\",\"ns\",,,0,\"\"\n"));
    const std::string junit = as_junit(records);
    EXPECT_EQ(count_in(junit, "time=\"0.003000000\""), 1U) << junit;  // seconds of B
    EXPECT_LT(junit.find("3 ms"), junit.find("2 ms")) << junit;       // B instead of A
    EXPECT_TRUE(holds(junit, "noise 6.2 %"));
    const json latency = json::parse(as_bencher(records))["m"]["latency"];  // ns
    EXPECT_EQ(latency, json({{"value", 3e6}, {"lower_value", 2.5e6}, {"upper_value", 3.5e6}}));
    const json entry = json::parse(as_action_benchmark(records))[0];
    EXPECT_EQ(entry["value"], 3000);
    EXPECT_EQ(entry["range"], "\u00b1 500");
    const std::string metrics = as_open_metrics(records);
    for (const char* line : {"side=\"a\"} 0.002\n", "side=\"b\"} 0.003\n", "slower\"} 1.5\n"})
        EXPECT_EQ(count_in(metrics, line), 1U) << metrics;
}

TEST(Views, OpenMetricsEndsAsItMustAndIsInSeconds) {
    const std::string text = as_open_metrics(sample());
    EXPECT_TRUE(text.ends_with("# EOF\n"));
    EXPECT_TRUE(
        holds(text, "# TYPE tutti_time_seconds gauge\n# UNIT tutti_time_seconds seconds\n"));
    EXPECT_NE(text.find("tutti_time_seconds{metric=\"much\",side=\"b\"} 3e-06\n"),
              std::string::npos)
        << text;
    EXPECT_NE(text.find("tutti_change_ratio{metric=\"much\",verdict=\"slower\"} 1.5\n"),
              std::string::npos);
}

TEST(Views, OpenMetricsHasNoMoreDigitsThanTheNoiseLeaves) {
    ComparisonRecords records = sample();
    records.verdicts = {verdict_of("m", Change::slower, 1.2345)};
    records.verdicts[0].noise = 0.02;  // steps of 0.01 from 0.5 to 5
    EXPECT_NE(as_open_metrics(records).find("verdict=\"slower\"} 1.23\n"), std::string::npos);
    records.verdicts[0].noise = 0;
    EXPECT_NE(as_open_metrics(records).find("verdict=\"slower\"} 1.234\n"), std::string::npos)
        << as_open_metrics(records);
}

TEST(Views, TheMeanIsNoMetricOfOpenMetrics) {
    ComparisonRecords records = sample();
    records.verdicts = {verdict_of("geometric mean", Change::same, 1),
                        verdict_of("geometric mean", Change::same, 1)};
    records.verdicts[1].b_ns = 0;
    const std::string text = as_open_metrics(records);
    EXPECT_EQ(count_in(text, "tutti_change_ratio{metric=\"geometric mean\""), 1U);
    EXPECT_EQ(count_in(text, "tutti_mean_change_ratio{verdict=\"same\"} 1\n"), 1U);
}

TEST(Views, CodeQualityNamesSlowerMetricsOnly) {
    const json issues = json::parse(as_code_quality(sample()));
    ASSERT_EQ(issues.size(), 2U);
    EXPECT_EQ(issues[0]["severity"], "major");
    EXPECT_EQ(issues[1]["severity"], "critical");
    EXPECT_EQ(issues[1]["location"]["path"], "r.jsonl");
    EXPECT_NE(issues[0]["fingerprint"], issues[1]["fingerprint"]);
}

TEST(Views, CodeQualityNamesFilesAsGitLabDoes) {
    ComparisonRecords records = sample();
    records.wrong = {"bad sum"};
    const auto here = std::filesystem::current_path();
    for (const auto& [file, path] :
         {std::pair<std::string, std::string>{"./a/r.jsonl", "a/r.jsonl"},
          {here / "r.jsonl", "r.jsonl"},
          {"/elsewhere/r.jsonl", "r.jsonl"},
          {"../r.jsonl", "r.jsonl"}}) {
        records.file = file;
        const json issues = json::parse(as_code_quality(records));
        EXPECT_EQ(issues[0]["location"]["path"], path) << file;
        EXPECT_EQ(issues[0]["severity"], "blocker");
    }
}

TEST(Views, NumbersOfProgramsAreNotTakenForTimes) {
    ComparisonRecords records = sample();
    for (VerdictRecord& verdict : records.verdicts) verdict.unit.clear();
    EXPECT_FALSE(holds(as_open_metrics(records), "seconds"));
    EXPECT_TRUE(holds(as_markdown(records), "| much | 2000 | 3000 |"));
}

TEST(Views, TheTableHasALineForEachMetricAndCountsThem) {
    ComparisonRecords records = sample();
    records.verdicts[3].low = records.verdicts[3].high = 0;
    records.verdicts[1].visible = 0.031;
    const std::string text = as_table(records);
    EXPECT_EQ(text.find("# metric        A (us)     B (us)    change  98 % interval          noise "
                        "seen from  verdict\n"),
              0U)
        << text;
    EXPECT_TRUE(
        holds(text, {"  a bit              2        2.1    +5.0 %  +3.0 % .. +7.0 %       1.0 % "
                     "    3.1 %  slower\n",
                     "too few launches       1.0 %         ?  undecided\n",
                     "# 5 metrics: 2 slower, 1 faster, 1 same, 1 undecided\n"}));
    EXPECT_FALSE(holds(text, "stored"));
}

TEST(Views, WhatDecidedIsExplained) {
    ComparisonRecords records = sample();
    for (Pair& pair : records.pairs) pair.seen.quads = {std::log(1.1), std::log(0.9)};
    const std::string text = explained(records, "muc");
    EXPECT_EQ(text.find("#\n# much: slower, because why\n#   2 launches of stage 1;"), 0U) << text;
    EXPECT_TRUE(holds(text, "  +10.0 % -10.0 %\n"));
    EXPECT_THROW(explained(records, "no such"), Error);
}

// In every view that says anything about verdicts.
TEST(Views, AStoredBaselineIsCalledWeaker) {
    ComparisonRecords records = sample();
    for (VerdictRecord& verdict : records.verdicts) {
        verdict.method = Pairing::stored;
        verdict.ignored = {"cores: A has 4, B has 8"};
    }
    for (const char* view : {"markdown", "github", "junit", "action-benchmark", "codequality",
                             "table", "csv", "openmetrics", "google-benchmark-a"})
        EXPECT_TRUE(holds(find_view(view).text(records), "stored")) << view;
    EXPECT_TRUE(holds(as_table(records), "cores: A has 4, B has 8\n"));
    EXPECT_TRUE(holds(explained(records, "much"), "     2.001      3.001\n"));
    records.pairs[1].seen.a_ns = 0;  // A has one launch less
    EXPECT_EQ(json::parse(as_google_benchmark_a(records))["benchmarks"].size(), 1U);
    EXPECT_EQ(json::parse(as_google_benchmark_b(records))["benchmarks"].size(), 2U);
}

TEST(Views, AFloorThatIsMissedIsAFailure) {
    ComparisonRecords records = sample();
    records.verdicts.clear();
    records.floors = {{.asked = "all_reduce 1M busbw at least 20 GB/s",
                       .metric = "all_reduce 1M ring",
                       .metrics = 2,
                       .value = 18.5,
                       .bound = 20,
                       .unit = "GB/s",
                       .met = false},
                      {.asked = "met", .metric = "m"}};
    const std::string said =
        "all_reduce 1M busbw at least 20 GB/s: 18.5 GB/s by all_reduce 1M ring, the worst of 2";
    for (const char* view : {"github", "junit", "codequality", "table", "csv"})
        EXPECT_TRUE(holds(find_view(view).text(records), said)) << view;
    EXPECT_TRUE(holds(as_markdown(records), "- **Missed:** all\\_reduce 1M"));
    EXPECT_TRUE(holds(as_junit(records), R"(tests="2" failures="1")"));
    EXPECT_NE(as_open_metrics(records).find("at least 20 GB/s\"} 0\n"), std::string::npos);
    EXPECT_EQ(count_in(as_github_annotations(records), "::error"), 1U);
    records.floors.erase(records.floors.begin());
    EXPECT_EQ(as_markdown(records), "");
}

TEST(Views, EachHasAName) {
    for (const View& view : views()) {
        EXPECT_EQ(find_view(view.name).text, view.text);
        EXPECT_NO_THROW(view.text(ComparisonRecords{})) << view.name;
    }
}

}  // namespace
}  // namespace tutti
