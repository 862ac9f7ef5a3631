// SPDX-License-Identifier: Apache-2.0
#include "cli/options/run_plan.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "cli/options/options.hpp"

namespace tutti {
namespace {

// Parses the words as a small command does.
RunPlan parsed(const Arguments& words) {
    CLI::App app{"", "tutti bench"};
    std::string collective, first = "8", seed, json, csv, resume;
    std::vector<std::string> metrics, environment;
    bool raw = false;
    app.add_option("collective", collective);
    const OptionGroup options(app, "Options");
    options.text("-b,--minbytes", first, "Smallest size");
    options.text("--seed", seed, "Seed");
    options.text("--json", json, "Results file");
    options.text("--csv", csv, "Table");
    options.text("--resume", resume, "Results file");
    options.list("--metric", metrics, "Metrics")->expected(1)->take_all();
    options.list("--env", environment, "Variables");
    options.flag("--raw", raw, "Store samples");
    EXPECT_FALSE(parse_or_help(app, words));
    return plan_of("bench", app, words);
}

std::vector<GivenOption> by_name(std::vector<GivenOption> given) {
    std::ranges::sort(given, {}, &GivenOption::name);
    return given;
}

TEST(RunPlan, IsReadFromTheArgumentsThatItWrites) {
    for (const Arguments& words :
         {Arguments{},
          {"all_reduce", "-b", "4K", "--raw"},
          {"--csv", "", "all_reduce", "--raw=false"},
          {"all_reduce", "--env", "A=1", "B=2"},
          {"--seed=-1", "--metric", "(x)", "all_reduce", "--metric", "y z"}}) {
        const RunPlan plan = parsed(words);
        EXPECT_EQ(by_name(parsed(plan.arguments()).given), by_name(plan.given));
        EXPECT_EQ(plan.typed, words);
    }
}

TEST(RunPlan, HasDefaultsAmongItsValuesOnly) {
    const RunPlan plan = parsed({"all_reduce"});
    EXPECT_EQ(plan.values.at("minbytes"), "8");
    EXPECT_FALSE(plan.has("minbytes"));
    EXPECT_EQ(plan.arguments(), Arguments{"all_reduce"});
}

TEST(RunPlan, CanBeChangedForAnotherProcess) {
    RunPlan plan = parsed({"all_reduce", "--seed", "1", "-b", "8"});
    plan.set("seed", "-2");
    constexpr std::string_view erased[] = {"minbytes", "csv"};
    plan.erase(erased);
    EXPECT_EQ(plan.arguments(), (Arguments{"all_reduce", "--seed=-2"}));
}

TEST(RunPlan, ResumesAloneWithOutputFilesOnly) {
    EXPECT_TRUE(resumes_alone(parsed({"--resume", "r.jsonl", "--csv", "t.csv"})));
    EXPECT_FALSE(resumes_alone(parsed({"--resume", "r.jsonl", "-b", "8"})));
    EXPECT_FALSE(resumes_alone(parsed({"--csv", "t.csv"})));
    RunPlan plan = parsed({"all_reduce", "--resume", "r.jsonl"});
    write_to_resumed_file(plan, "r.jsonl");
    EXPECT_EQ(plan.typed, (Arguments{"all_reduce", "--json", "r.jsonl"}));
}

TEST(RunPlan, FindsOneOptionAmongOthers) {
    EXPECT_EQ(option_in({"-b8", "-Jx.csv", "--raw"}, "-J,--output_file"), "x.csv");
    EXPECT_EQ(option_in({"bench", "--json=r.jsonl"}, "--json"), "r.jsonl");
    EXPECT_EQ(option_in({"bench", "--jsonl", "x"}, "--json"), std::nullopt);
}

TEST(RunPlan, EndsAtTheDashesOfAnotherCommand) {
    const auto [own, other] = split_at_dashes({"a", "--", "bench", "--"});
    EXPECT_EQ(own, Arguments{"a"});
    EXPECT_EQ(other, (Arguments{"bench", "--"}));
    EXPECT_FALSE(split_at_dashes({"a"}).other);
    EXPECT_FALSE(split_at_dashes({"a", "--", "--complete-this"}).other);
}

}  // namespace
}  // namespace tutti
