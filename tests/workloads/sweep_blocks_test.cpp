// SPDX-License-Identifier: Apache-2.0
// Sweeps of calls whose blocks have lengths of their own.
#include <gtest/gtest.h>

#include "base/collective_form.hpp"
#include "tests/workloads/sweeps.hpp"
#include "workloads/bench/sweep_points.hpp"

namespace tutti {
namespace {

std::vector<BlockRule> rules(std::initializer_list<const char*> names) {
    std::vector<BlockRule> all;
    for (const char* name : names) all.push_back(parse_block_rule(name));
    return all;
}

Sweep sweep_with(std::vector<BlockRule> blocks, Collective collective = Collective::all_to_all) {
    Sweep sweep = sweep_of(
        collective,
        {.algorithms = {"linear"}, .transports = {"shm", "loopback"}, .baselines = {"none"}});
    sweep.blocks = std::move(blocks);
    return sweep;
}

TEST(SweepOfBlocks, ChecksTheResultsOfEveryCollective) {
    for (const CollectiveForm& form : all_collective_forms()) {
        if (!form.has_lengths) continue;
        Sweep sweep = sweep_of(form.collective, {.transports = {"shm"}, .baselines = {"none"}});
        sweep.blocks = rules({"one-giant", "random:3"});
        sweep.in_place = {false, true};
        sweep.roots = {Rank{1}};
        const auto points = points_of_run(sweep, 4);
        ASSERT_EQ(points.size(), 2U);
        for (const auto& together : points)
            for (const Point& point : together) {
                if (point.skipped) continue;
                EXPECT_EQ(point.measured.check.state, CheckState::ok)
                    << call_in_words(point.key) << " " << candidate_in_words(point.key);
            }
    }
}

TEST(SweepOfBlocks, NamesTheRuleAndTheSizeOfEqualBlocks) {
    Sweep sweep = sweep_with(rules({"uniform", "skewed"}));
    sweep.counts = {10, 100};
    sweep.types = {DataType::float64};
    std::vector<std::tuple<std::string, std::int64_t, std::int64_t>> seen;
    for (const auto& together : points_of_run(sweep, 3))
        seen.emplace_back(together[0].key.blocks, together[0].key.count,
                          together[0].key.bytes.count);
    EXPECT_EQ(seen, (decltype(seen){{"uniform", 10, 240},
                                    {"uniform", 100, 2400},
                                    {"skewed", 10, 240},
                                    {"skewed", 100, 2400}}));
}

TEST(SweepOfBlocks, KeepsGivenCountsWithoutSizes) {
    Sweep sweep = sweep_with({{.shape = BlockRule::Shape::given, .counts = {1, 2, 3, 4}}});
    sweep.counts.clear();
    const auto points = points_of_run(sweep, 2);
    ASSERT_EQ(points.size(), 1U);
    EXPECT_EQ(points[0][0].key.bytes, Bytes{20});  // 10 floats by 2 ranks
    EXPECT_EQ(calls_of(sweep, 2).at(0).call.count, 4);
}

TEST(SweepOfBlocks, SkipsInPlaceWhatSendsMoreThanItReceives) {
    Sweep sweep = sweep_with(rules({"next"}));
    sweep.in_place = {true};
    EXPECT_TRUE(points_of_run(sweep, 3).at(0).at(0).skipped);
    EXPECT_FALSE(points_of_run(sweep, 2).at(0).at(0).skipped);
}

TEST(SweepOfBlocks, OfOneRankIsACallOfOneBlock) {
    const auto calls = calls_of(sweep_with(rules({"skewed"})), 1);
    ASSERT_EQ(calls.size(), 1U);
    EXPECT_EQ(calls[0].call.lengths, nullptr);
    EXPECT_EQ(calls[0].call.count, 10);
    EXPECT_EQ(calls[0].blocks, "skewed");
}

TEST(SweepOfBlocks, HasTheBusBandwidthOfARingOfSendsAndReceives) {
    const auto factor = [](const char* rule, int ranks) {
        const Bandwidth reached = bandwidth(Collective::all_to_all, ranks, {100}, 10, rule);
        return reached.busbw / reached.algbw;
    };
    EXPECT_EQ(factor("next", 4), 1);
    EXPECT_EQ(factor("skewed", 4), 0.75);
    EXPECT_EQ(factor("next", 1), 0);
}

}  // namespace
}  // namespace tutti
