// SPDX-License-Identifier: Apache-2.0
#include "workloads/bench/block_rules.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "base/collective_form.hpp"
#include "tests/base/messages.hpp"

namespace tutti {
namespace {

using Counts = std::vector<std::int64_t>;

Counts counts_by(const std::string& rule, Collective collective, int ranks, std::int64_t average) {
    return block_counts(parse_block_rule(rule), collective, ranks, average);
}

TEST(BlockRules, DivideAllElements) {
    for (const std::string rule :
         {"uniform", "skewed", "one-giant", "zeros", "next", "random:1", "random:2"})
        for (const CollectiveForm& form : all_collective_forms())
            for (const int ranks : {1, 2, 3, 8, 33})
                for (const std::int64_t average : {0, 1, 1000}) {
                    if (!form.has_lengths) continue;
                    const Counts counts = counts_by(rule, form.collective, ranks, average);
                    const std::int64_t blocks =
                        form.collective == Collective::all_to_all ? ranks * ranks : ranks;
                    EXPECT_EQ(std::ssize(counts), blocks);
                    EXPECT_EQ(std::accumulate(counts.begin(), counts.end(), std::int64_t{0}),
                              blocks * average)
                        << rule << " " << name_of(form) << " " << ranks;
                    EXPECT_GE(std::ranges::min(counts), 0);
                }
}

TEST(BlockRules, HaveTheirShapes) {
    const Collective line = Collective::all_gather, matrix = Collective::all_to_all;
    EXPECT_EQ(counts_by("uniform", line, 3, 5), (Counts{5, 5, 5}));
    EXPECT_EQ(counts_by("skewed", line, 3, 11), (Counts{18, 9, 6}));
    EXPECT_EQ(counts_by("skewed", matrix, 2, 9), (Counts{12, 6, 6, 12}));
    EXPECT_EQ(counts_by("one-giant", line, 3, 34), (Counts{1, 100, 1}));
    EXPECT_EQ(counts_by("zeros", line, 4, 5), (Counts{0, 10, 0, 10}));
    EXPECT_EQ(counts_by("zeros", matrix, 2, 5), (Counts{0, 10, 10, 0}));
    EXPECT_EQ(counts_by("next", matrix, 3, 5), (Counts{0, 15, 0, 0, 0, 15, 15, 0, 0}));
    const Counts random = counts_by("random:7", matrix, 8, 1000);
    EXPECT_EQ(random, counts_by("random:7", matrix, 8, 1000));
    EXPECT_NE(random, counts_by("random:8", matrix, 8, 1000));
    EXPECT_GE(std::ranges::count(random, 0), 4);
}

TEST(BlockRules, KeepOrScaleGivenCounts) {
    const BlockRule given{.shape = BlockRule::Shape::given, .counts = {1, 0, 3}, .name = "file"};
    EXPECT_EQ(block_counts(given, Collective::gather, 3, {}), (Counts{1, 0, 3}));
    EXPECT_EQ(block_counts(given, Collective::gather, 3, 100), (Counts{75, 0, 225}));
    const auto refusal = [&](Collective collective, int ranks) {
        return refusal_by([&] { block_counts(given, collective, ranks, {}); });
    };
    EXPECT_NE(refusal(Collective::gather, 2).find("row of 2"), std::string::npos);
    EXPECT_NE(refusal(Collective::all_to_all, 3).find("3 rows of 3"), std::string::npos);
}

TEST(BlockRules, AreNamed) {
    EXPECT_NE(refusal_by([] { parse_block_rule("skew"); }).find("'skewed'"), std::string::npos);
    EXPECT_NE(refusal_by([] { parse_block_rule("random:x"); }).find("random:1"), std::string::npos);
    EXPECT_EQ(parse_block_rule("random:3").name, "random:3");
}

TEST(BlockRules, RefuseInPlaceCallsThatSendMoreThanTheyReceive) {
    const auto refusal = [](const Counts& counts, Collective collective) {
        const BlockLengths lengths(counts);
        return refuses_in_place({.collective = collective, .lengths = &lengths}, 2);
    };
    EXPECT_FALSE(refusal({1, 5, 5, 2}, Collective::all_to_all));
    EXPECT_TRUE(refusal({1, 5, 4, 2}, Collective::all_to_all));
    EXPECT_FALSE(refusal({1, 5}, Collective::all_gather));
}

}  // namespace
}  // namespace tutti
