// SPDX-License-Identifier: Apache-2.0
#include "results/comparison/quads.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <string>

#include "results/comparison/quad_loop.hpp"

namespace tutti {
namespace {

// Blocks one after the other on a machine of its own speed: `time` of the block's number.
template <class Time>
std::vector<Quad> measured(int quads, double ratio, Time&& time) {
    std::vector<Quad> all;
    int block = 0;
    for (int i = 0; i < quads; ++i) {
        Quad quad{.a_first = i % 2 == 0};
        const auto a = [&] { return time(block++); };
        const auto b = [&] { return ratio * time(block++); };
        if (quad.a_first) {
            quad.a1 = a();
            quad.b1 = b();
            quad.b2 = b();
            quad.a2 = a();
        } else {
            quad.b1 = b();
            quad.a1 = a();
            quad.a2 = a();
            quad.b2 = b();
        }
        all.push_back(quad);
    }
    return all;
}

TEST(Quads, GiveTheRatioOfTheTimes) {
    const auto launch = summary_of(measured(8, 1.07, [](int) { return 250.; }));
    ASSERT_TRUE(launch);
    EXPECT_NEAR(launch->change, std::log(1.07), 1e-12);
    EXPECT_NEAR(launch->noise_a, 0, 1e-12);
    EXPECT_NEAR(launch->noise_b, 0, 1e-12);
    EXPECT_EQ(launch->a_ns, 250);
    EXPECT_NEAR(launch->b_ns, 267.5, 1e-9);
    EXPECT_EQ(launch->quads.size(), 8U);
}

TEST(Quads, AMachineThatGetsSlowerMakesNoDifference) {
    const auto slower_and_slower = [](int block) { return 100 * std::pow(1.01, block); };
    const auto launch = summary_of(measured(8, 1, slower_and_slower));
    EXPECT_NEAR(launch->change, 0, 1e-12);
    // The distances of two blocks of one differ from quad to quad, their signs cancel them.
    EXPECT_NEAR(launch->noise_a, 0, std::log(1.01) * 1.01);
    EXPECT_NEAR(launch->noise_b, 0, std::log(1.01) * 1.01);
}

TEST(Quads, ABlockThatWasDisturbedMakesNoDifference) {
    const auto once_slow = [](int block) { return block == 5 ? 1000. : 100.; };
    EXPECT_NEAR(summary_of(measured(8, 1.05, once_slow))->change, std::log(1.05), 1e-12);
}

TEST(Quads, ThoseWithABlockThatDoesNotCountAreLeftOut) {
    auto quads = measured(2, 1.5, [](int) { return 10.; });
    quads[0].b2 = 0;
    EXPECT_EQ(summary_of(quads)->quads.size(), 1U);
    quads[1].a1 = 0;
    EXPECT_FALSE(summary_of(quads));
    EXPECT_FALSE(summary_of({}));
}

TEST(QuadLoop, BeginsWithAAndBByTurns) {
    std::string blocks;
    QuadLoop loop({.exactly = 3}, Side::b);
    std::vector<QuadOf<int>> quads;
    while (loop.goes_on())
        quads.push_back(loop.quad([&](Side side) {
            blocks += side == Side::a ? 'A' : 'B';
            return static_cast<int>(blocks.size());
        }));
    EXPECT_EQ(blocks, "BAABABBABAAB");
    ASSERT_EQ(quads.size(), 3U);
    EXPECT_TRUE(quads[1].a_first);
    EXPECT_EQ((std::vector{quads[1].a1, quads[1].b1, quads[1].b2, quads[1].a2}),
              (std::vector{5, 6, 7, 8}));
    EXPECT_EQ((std::vector{quads[2].b1, quads[2].a1, quads[2].a2, quads[2].b2}),
              (std::vector{9, 10, 11, 12}));
}

TEST(EnoughQuads, AreEightOrAsManyMoreAsTakeTheTimeUpToAHundred) {
    const EnoughQuads enough{.seconds = 2};
    EXPECT_FALSE(enough(6, 3));
    EXPECT_TRUE(enough(8, 2));
    EXPECT_FALSE(enough(8, 1.9));
    EXPECT_FALSE(enough(9, 3)) << "as many begin with A as with B";
    EXPECT_FALSE(enough(98, 1.9));
    EXPECT_TRUE(enough(100, 1.9));
    EXPECT_TRUE((EnoughQuads{.exactly = 2}(2, 0)));
    EXPECT_FALSE((EnoughQuads{.exactly = 10}(8, 3)));
}

}  // namespace
}  // namespace tutti
