// SPDX-License-Identifier: Apache-2.0
#include "results/history/change_points.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

namespace tutti {
namespace {

std::vector<double> noise(std::size_t size, std::uint64_t seed) {
    std::mt19937_64 random(seed);
    std::vector<double> values(size);
    for (double& value : values) {  // Box and Muller
        const auto uniform = [&] { return (static_cast<double>(random() >> 11) + 0.5) * 0x1p-53; };
        const double radius = std::sqrt(-2 * std::log(uniform()));
        value = radius * std::cos(2 * std::acos(-1.) * uniform());
    }
    return values;
}

void raise(std::vector<double>& values, std::size_t begin, std::size_t end, double by) {
    for (std::size_t i = begin; i < end; ++i) values[i] += by;
}

std::vector<std::size_t> firsts(const std::vector<double>& values, const ChangeTest& test = {}) {
    std::vector<std::size_t> found;
    for (const ChangePoint& change : change_points(values, test)) found.push_back(change.first);
    return found;
}

using Places = std::vector<std::size_t>;

TEST(ChangePoints, StepOfFiveSigmaIsFoundAtItsPlace) {
    int exact = 0;
    for (std::uint64_t seed = 0; seed < 20; ++seed) {
        auto values = noise(24, seed);
        raise(values, 14, 24, 5);
        const Places found = firsts(values, {.permutations = 199, .seed = seed});
        if (found == Places{14}) ++exact;
        EXPECT_TRUE(std::ranges::any_of(found, [](auto at) { return at >= 13 && at <= 15; }));
    }
    EXPECT_GE(exact, 17);  // noise may lie on the other side; 1 of 100 tests is wrong
}

TEST(ChangePoints, NoiseHasAsManyAsTheLevelSays) {
    // 200 tests at 5 %: 10 are expected, and 1 to 21 come with a probability of 99.9 %.
    int wrong = 0;
    for (std::uint64_t seed = 0; seed < 200; ++seed)
        if (!firsts(noise(20, 100 + seed), {.level = 0.05, .permutations = 99, .seed = seed})
                 .empty())
            ++wrong;
    EXPECT_GE(wrong, 1);
    EXPECT_LE(wrong, 21);
}

TEST(ChangePoints, StepUpAndDownIsTwoChanges) {
    auto values = noise(36, 3);
    raise(values, 12, 24, 6);
    EXPECT_EQ(firsts(values), (Places{12, 24}));
}

TEST(ChangePoints, WiderSpreadIsAChange) {
    auto values = noise(80, 4);
    for (std::size_t i = 40; i < 80; ++i) values[i] *= 12;
    EXPECT_TRUE(std::ranges::any_of(firsts(values), [](auto at) { return at >= 35 && at <= 45; }));
}

TEST(ChangePoints, KeepThreeValuesOnEachSide) {
    const auto step = [](std::size_t low, std::size_t high) {
        std::vector<double> values(low, 0);
        values.resize(low + high, 90);
        return values;
    };
    EXPECT_EQ(firsts(step(3, 2)), Places{});
    EXPECT_EQ(firsts(step(17, 2)), Places{});
    EXPECT_EQ(firsts(step(17, 3)), Places{17});
    EXPECT_EQ(firsts(std::vector<double>(30, 5.)), Places{});
}

TEST(ChangePoints, SameSeedGivesTheSame) {
    auto values = noise(16, 5);
    raise(values, 12, 16, 3);
    const ChangeTest test{.level = 0.3, .seed = 7};
    EXPECT_EQ(change_points(values, test), change_points(values, test));
}

TEST(ChangePoints, LongSeriesAreTestedByGroupsAndCutAtTheRightValue) {
    auto values = noise(2500, 6);
    raise(values, 1333, 2500, 6);
    const Places found = firsts(values, {.permutations = 99, .seed = 1});
    ASSERT_EQ(found.size(), 1u);
    EXPECT_NEAR(static_cast<double>(found[0]), 1333, 1);
}

// The definition: all cuts, ends and pairs.
TEST(ChangePoints, BestCutIsThatOfTheDefinition) {
    const auto x = noise(13, 6);
    Cut best{-1e9};
    for (std::size_t cut = 3; cut < 11; ++cut)
        for (std::size_t end = cut + 3; end < 14; ++end) {
            const auto sum = [&](std::size_t a, std::size_t b, std::size_t c, std::size_t d) {
                double all = 0;
                for (std::size_t i = a; i < b; ++i)
                    for (std::size_t k = c; k < d; ++k) all += std::abs(x[i] - x[k]);
                return all;
            };
            const auto n = static_cast<double>(cut), m = static_cast<double>(end - cut);
            const double energy = 2 * sum(0, cut, cut, end) / (n * m) -
                                  sum(0, cut, 0, cut) / (n * (n - 1)) -
                                  sum(cut, end, cut, end) / (m * (m - 1));
            const double clarity = energy * n * m / (n + m);
            if (clarity > best.clarity) best = {clarity, cut};
        }
    const Cut found = best_cut(x);
    EXPECT_EQ(found.first, best.first);
    EXPECT_NEAR(found.clarity, best.clarity, 1e-12);
}

}  // namespace
}  // namespace tutti
