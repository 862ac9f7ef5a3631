// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "autotune/search/ranges.hpp"
#include "autotune/search/search.hpp"
#include "base/index.hpp"
#include "tests/autotune/model_subjects.hpp"

namespace tutti {
namespace {

struct Shape {
    int plain, pipelined;
};
// 8 to 44 arms.
constexpr Shape shapes[] = {{8, 0}, {12, 0}, {20, 0}, {40, 0}, {8, 1}, {6, 2}};
// The algorithms of a library for one collective.
constexpr Shape few_arms[] = {{3, 0}, {4, 0}, {5, 0}, {3, 1}};
constexpr std::uint64_t seeds = 12;

struct Figures {
    std::vector<double> regrets, regrets_of_ranges;
    double samples = 0, all_samples = 0, seconds = 0, all_seconds = 0;
    double ranges = 0, searches = 0;

    void add(const Figures& more) {
        regrets.insert(regrets.end(), more.regrets.begin(), more.regrets.end());
        regrets_of_ranges.insert(regrets_of_ranges.end(), more.regrets_of_ranges.begin(),
                                 more.regrets_of_ranges.end());
        samples += more.samples, all_samples += more.all_samples;
        seconds += more.seconds, all_seconds += more.all_seconds;
        ranges += more.ranges, searches += more.searches;
    }
};

double mean_of(const std::vector<double>& values) {
    return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

double quantile_of(std::vector<double> values, double share) {
    std::sort(values.begin(), values.end());
    return values[static_cast<std::size_t>(share * static_cast<double>(values.size() - 1))];
}

/// Against the planted truth; an arm that cannot run there is a hundred times too slow.
double regret_of(const ModelMachine& machine, Bytes size, int winner) {
    double best = 1e300;
    for (int arm = 0; arm < static_cast<int>(machine.arms().size()); ++arm)
        best = std::min(best, machine.truth(arm, size).value_or(1e300));
    return machine.truth(winner, size).value_or(100 * best) / best - 1;
}

void search_one(Shape shape, Weather weather, Figures& figures) {
    const std::vector<Bytes> sizes = twenty_sizes();
    ModelMachine machine = planted_machine(shape.plain, shape.pipelined, weather.seed);
    machine.set(weather);
    ModelMachine oracle = machine;
    SearchOptions options;
    const std::vector<Finding> findings = search(machine, sizes, options);
    for (const Finding& finding : findings)
        figures.regrets.push_back(regret_of(machine, finding.size, finding.winner));
    const FewerRanges compression = ranges_of(findings, options.hysteresis);
    for (const SizeRange& range : compression.ranges)
        for (std::size_t i = range.first; i <= range.last; ++i)
            figures.regrets_of_ranges.push_back(regret_of(machine, sizes[i], range.arm));
    figures.ranges += static_cast<double>(compression.ranges.size());
    ++figures.searches;

    search_exhaustively(oracle, sizes, 20);
    figures.samples += static_cast<double>(machine.samples());
    figures.all_samples += static_cast<double>(oracle.samples());
    figures.seconds += machine.seconds();
    figures.all_seconds += oracle.seconds();
}

void print(const std::string& name, const Figures& figures) {
    const auto regret = [](const std::vector<double>& of) {
        return fmt::format("regret mean {:.2f} % p95 {:.1f} % max {:.0f} %", 100 * mean_of(of),
                           100 * quantile_of(of, 0.95), 100 * quantile_of(of, 1));
    };
    fmt::print("{}: {}; samples {:.1f} %, time {:.1f} %; in {:.1f} ranges {}\n", name,
               regret(figures.regrets), 100 * figures.samples / figures.all_samples,
               100 * figures.seconds / figures.all_seconds, figures.ranges / figures.searches,
               regret(figures.regrets_of_ranges));
}

void expect_good(const Figures& figures) {
    EXPECT_LE(mean_of(figures.regrets), 0.01);
    EXPECT_LE(quantile_of(figures.regrets, 0.95), 0.05);
    EXPECT_LE(figures.samples, 0.10 * figures.all_samples);
    EXPECT_LE(figures.seconds, 0.25 * figures.all_seconds);
}

// Checks the promise of the search over shapes of subjects and many machines.
void expect_good(std::span<const Shape> of, Weather weather) {
    Figures all;
    for (const Shape& shape : of) {
        Figures figures;
        for (std::uint64_t seed = 1; seed <= seeds; ++seed)
            search_one(shape,
                       {.noise = weather.noise, .model_error = weather.model_error, .seed = seed},
                       figures);
        all.add(figures);
        print(fmt::format("  {} arms", shape.plain + 18 * shape.pipelined), figures);
        EXPECT_LE(figures.samples, 0.10 * figures.all_samples);
        EXPECT_LE(figures.seconds, 0.25 * figures.all_seconds);
    }
    print(fmt::format("noise {}, error of the model {}", weather.noise, weather.model_error), all);
    expect_good(all);
}

class SearchRegret : public testing::TestWithParam<std::tuple<double, double>> {};

TEST_P(SearchRegret, IsSmallForATenthOfTheSamples) {
    const auto [noise, model_error] = GetParam();
    expect_good(shapes, {.noise = noise, .model_error = model_error});
}

class RegretOfFewArms : public testing::TestWithParam<double> {};

TEST_P(RegretOfFewArms, IsSmallForATenthOfTheSamplesWithoutAModel) {
    expect_good(few_arms, {.noise = GetParam(), .model_error = -1});
}

INSTANTIATE_TEST_SUITE_P(NoModel, RegretOfFewArms, testing::Values(0.05, 0.15, 0.30));

INSTANTIATE_TEST_SUITE_P(GoodModel, SearchRegret,
                         testing::Combine(testing::Values(0.05, 0.15, 0.30), testing::Values(0.3)));
INSTANTIATE_TEST_SUITE_P(BadModel, SearchRegret,
                         testing::Combine(testing::Values(0.15), testing::Values(0.6)));
INSTANTIATE_TEST_SUITE_P(NoModel, SearchRegret,
                         testing::Combine(testing::Values(0.15), testing::Values(-1.0)));

}  // namespace
}  // namespace tutti
