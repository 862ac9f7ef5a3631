// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "autotune/search/caching_evaluator.hpp"

namespace tutti {
namespace {

TEST(RacedSamples, PutsFirstWhoHasTheLeastMedianOfAllRacesAndLeavesOpenWhatHasNotRaced) {
    RacedSamples raced;
    raced.add({Bytes{8}, 0, {10, 30}});
    raced.add({Bytes{8}, 1, {20, 20}});
    raced.add({Bytes{8}, 2, {}});
    raced.add({Bytes{8}, 0, {40}});
    const std::vector<Bytes> sizes{Bytes{8}, Bytes{16}};
    const std::vector<Finding> findings = raced.findings(sizes);
    ASSERT_EQ(findings.size(), 2u);
    EXPECT_EQ(findings[0].winner, 1);
    ASSERT_EQ(findings[0].entries.size(), 2u);
    EXPECT_EQ(findings[0].entries[1].samples_ns, (std::vector<double>{10, 30, 40}));
    EXPECT_EQ(findings[1].winner, -1);
    EXPECT_FALSE(findings[1].measured);
}

}  // namespace
}  // namespace tutti
