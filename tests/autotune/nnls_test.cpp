// SPDX-License-Identifier: Apache-2.0
#include "autotune/model/nnls.hpp"

#include <gtest/gtest.h>

namespace tutti {
namespace {

TEST(NonNegativeFit, IsTheSolutionWhereAllOfItIsPositive) {
    NonNegativeFit fit(2);
    fit.add(std::vector<double>{1, 1}, 5, 1);
    fit.add(std::vector<double>{1, -1}, 1, 1);
    const auto x = fit.solve({1, 1});
    EXPECT_NEAR(x[0], 3, 1e-5);
    EXPECT_NEAR(x[1], 2, 1e-5);
}

// x + y = 1 and y = 2 want x = -1; with x = 0 the best y is half way.
TEST(NonNegativeFit, KeepsWhatWouldBeNegativeAtNothing) {
    NonNegativeFit fit(2);
    fit.add(std::vector<double>{1, 1}, 1, 1);
    fit.add(std::vector<double>{0, 1}, 2, 1);
    const auto x = fit.solve({1, 1});
    EXPECT_EQ(x[0], 0);
    EXPECT_NEAR(x[1], 1.5, 1e-5);
}

TEST(NonNegativeFit, HeedsWeightsAndLeavesTheUnnamedAsItIs) {
    NonNegativeFit fit(2);
    fit.add(std::vector<double>{1, 0}, 1, 3);
    fit.add(std::vector<double>{1, 0}, 5, 1);
    const auto x = fit.solve({1, 7});
    EXPECT_NEAR(x[0], 2, 1e-5);
    EXPECT_EQ(x[1], 7);
}

}  // namespace
}  // namespace tutti
