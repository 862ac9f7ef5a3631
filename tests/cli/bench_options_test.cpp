// SPDX-License-Identifier: Apache-2.0
#include "cli/options/bench_options.hpp"

#include <gtest/gtest.h>

namespace tutti {
namespace {

std::string limits_of(Arguments words) {
    words.insert(words.begin(), "all_reduce");
    return parse_bench(words).value().run.limits;
}

TEST(BenchOptions, JobsOfAComparisonMeasureNoLimits) {
    EXPECT_EQ(limits_of({"--limits", "stored"}), "stored");
    EXPECT_EQ(limits_of({"--limits", "stored", "--turns", "127.0.0.1:1/key"}), "none");
    EXPECT_EQ(limits_of({"--limits", "a.jsonl", "--turns", "127.0.0.1:1/key"}), "a.jsonl");
}

}  // namespace
}  // namespace tutti
