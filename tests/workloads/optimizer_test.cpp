// SPDX-License-Identifier: Apache-2.0
#include "workloads/learn/training/optimizer.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <numeric>
#include <tuple>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "base/index.hpp"
#include "workloads/learn/training/lbfgs.hpp"

namespace tutti {
namespace {

using Values = std::vector<float>;

}  // namespace

// On a constant gradient g momentum m sums to g (1 - m^n) / (1 - m).
TEST(Sgd, MovesAsItsClosedFormSays) {
    const auto optimizer = sgd(1, {.momentum = 0.5});
    Values weights{1};
    double expected = 1;
    for (int step = 1; step <= 10; ++step) {
        optimizer->step(weights, Values{2}, 0.01);
        expected -= 0.01 * 2 * (1 - std::pow(0.5, step)) / (1 - 0.5);
        EXPECT_NEAR(weights[0], expected, 1e-6);
    }
}

// On w^2 / 2 without momentum every step multiplies w by 1 - rate.
TEST(Sgd, ShrinksAQuadraticByOneMinusTheRate) {
    const auto optimizer = sgd(2, {.momentum = 0});
    Values weights{1, -4};
    for (int step = 0; step < 20; ++step) optimizer->step(weights, Values(weights), 0.1);
    EXPECT_NEAR(weights[0], std::pow(0.9, 20), 1e-6);
    EXPECT_NEAR(weights[1], -4 * std::pow(0.9, 20), 1e-6);
}

// On a constant gradient mean and root of mean square are it and its magnitude: steps of the rate.
TEST(Adam, MovesByTheRateWhateverTheScaleOfTheGradient) {
    const auto optimizer = adam(3);
    Values weights{0, 0, 0};
    for (int step = 1; step <= 50; ++step) {
        optimizer->step(weights, Values{1e-3f, -5, 0}, 0.01);
        EXPECT_NEAR(weights[0], -0.01 * step, 1e-5 * step);
        EXPECT_NEAR(weights[1], 0.01 * step, 1e-5 * step);
        EXPECT_EQ(weights[2], 0);
    }
}

TEST(Optimizers, AreFoundByName) {
    for (const OptimizerKind& kind : all_optimizers())
        EXPECT_EQ(find_optimizer(kind.name).name, kind.name);
    EXPECT_THROW(find_optimizer("newton"), Error);
}

TEST(LearningRate, GrowsToTheRankCountTimesThatOfOneRank) {
    const LearningRate rate{.of_one_rank = 0.1, .ranks = 4, .warm_up_steps = 6};
    EXPECT_DOUBLE_EQ(rate.at(0), 0.1);
    EXPECT_DOUBLE_EQ(rate.at(3), 0.25);
    EXPECT_DOUBLE_EQ(rate.at(6), 0.4);
    EXPECT_DOUBLE_EQ(rate.at(1000), 0.4);
    EXPECT_DOUBLE_EQ((LearningRate{.of_one_rank = 0.1, .ranks = 4}.at(0)), 0.4);
    EXPECT_DOUBLE_EQ((LearningRate{.of_one_rank = 0.1, .warm_up_steps = 6}.at(0)), 0.1);
}

TEST(LearningRate, FallsToNothingOverTheSecondHalf) {
    const LearningRate rate{.of_one_rank = 0.1, .ranks = 2, .warm_up_steps = 10, .steps = 100};
    EXPECT_DOUBLE_EQ(rate.at(5), 0.15);
    EXPECT_DOUBLE_EQ(rate.at(50), 0.2);
    EXPECT_DOUBLE_EQ(rate.at(75), 0.1);
    EXPECT_NEAR(rate.at(99), 0.004, 1e-12);
    EXPECT_DOUBLE_EQ(rate.at(100), 0);
    EXPECT_DOUBLE_EQ(rate.at(200), 0);
}

// sum of c_i (w_i - i)^2 / 2 with c from 1 to 50: steepest descent would take hundreds of steps.
TEST(Lbfgs, FindsTheMinimumOfAStretchedQuadratic) {
    constexpr int count = 20;
    int losses = 0, gradients = 0, dots = 0;
    const auto evaluate = [&](std::span<const float> weights, std::span<float> gradient) {
        ++(gradient.empty() ? losses : gradients);
        double loss = 0;
        for (int i = 0; i < count; ++i) {
            const auto at = static_cast<std::size_t>(i);
            const double scale = 1 + 49.0 * i / (count - 1), off = weights[at] - i;
            loss += scale * off * off / 2;
            if (!gradient.empty()) gradient[at] = static_cast<float>(scale * off);
        }
        return loss;
    };
    const auto dot = [&](std::span<const float> a, std::span<const float> b) {
        ++dots;
        return local_dot(a, b);
    };
    Values weights(count);
    Lbfgs lbfgs({evaluate, dot}, count);
    Lbfgs::Step counted;
    for (int step = 0; step < 40 && !counted.ended; ++step) {
        const auto before = std::tuple(losses, gradients, dots);
        counted = lbfgs.step(weights);
        EXPECT_EQ(counted.losses, losses - std::get<0>(before));
        EXPECT_EQ(counted.gradients, gradients - std::get<1>(before));
        EXPECT_EQ(counted.dots, dots - std::get<2>(before));
        EXPECT_LE(counted.dots, 2 * 10 + 5);
    }
    for (int i = 0; i < count; ++i) EXPECT_NEAR(at(weights, i), i, 1e-3);
}

// H from H0 = s.y / y.y of the newest change, by H <- (1 - r s y') H (1 - r y s') + r s s' with
// r = 1 / s.y for every change kept, written out as a matrix: the two loops must say -H g.
TEST(Lbfgs, TakesTheDirectionOfTheBfgsFormula) {
    constexpr std::size_t n = 4, history = 3;
    const double scales[n] = {1, 3, 10, 40};
    Values first_trial;
    const auto evaluate = [&](std::span<const float> weights, std::span<float> gradient) {
        if (gradient.empty() && first_trial.empty())
            first_trial.assign(weights.begin(), weights.end());
        double loss = 0;
        for (std::size_t i = 0; i < n; ++i) {
            loss += scales[i] * weights[i] * weights[i] / 2;
            if (!gradient.empty()) gradient[i] = static_cast<float>(scales[i] * weights[i]);
        }
        return loss;
    };
    using Vector = std::array<double, n>;
    std::vector<std::pair<Vector, Vector>> changes;
    Values weights{1, 1, 1, 1};
    Lbfgs lbfgs({evaluate, local_dot}, n, {.history = history});
    for (int step = 0; step < 7; ++step) {
        const Values before = weights;
        first_trial.clear();
        lbfgs.step(weights);
        if (!changes.empty()) {
            const auto dot = [](const Vector& a, const Vector& b) {
                return std::inner_product(a.begin(), a.end(), b.begin(), 0.0);
            };
            const auto& [newest_s, newest_y] = changes.back();
            std::array<Vector, n> inverse{};  // its rows; it is symmetric
            for (std::size_t i = 0; i < n; ++i)
                inverse[i][i] = dot(newest_s, newest_y) / dot(newest_y, newest_y);
            for (const auto& [s, y] : changes) {
                const double r = 1 / dot(s, y);
                Vector by{};
                for (std::size_t i = 0; i < n; ++i) by[i] = dot(inverse[i], y);
                const double square = dot(by, y);
                for (std::size_t i = 0; i < n; ++i)
                    for (std::size_t j = 0; j < n; ++j)
                        inverse[i][j] +=
                            (r * r * square + r) * s[i] * s[j] - r * (s[i] * by[j] + by[i] * s[j]);
            }
            Vector gradient{};
            for (std::size_t i = 0; i < n; ++i) gradient[i] = scales[i] * before[i];
            const double length = std::sqrt(dot(gradient, gradient));
            for (std::size_t i = 0; i < n; ++i)
                EXPECT_NEAR(first_trial[i] - before[i], -dot(inverse[i], gradient), 1e-4 * length)
                    << step;
        }
        Vector s{}, y{};
        for (std::size_t i = 0; i < n; ++i) y[i] = scales[i] * (s[i] = weights[i] - before[i]);
        changes.emplace_back(s, y);
        if (changes.size() > history) changes.erase(changes.begin());
    }
}

TEST(Lbfgs, EndsAtAMinimumAndLeavesTheWeights) {
    const auto evaluate = [](std::span<const float> weights, std::span<float> gradient) {
        if (!gradient.empty()) gradient[0] = weights[0];
        return weights[0] * weights[0] / 2.0;
    };
    Values weights{0};
    const auto step = Lbfgs({evaluate, local_dot}, 1).step(weights);
    EXPECT_TRUE(step.ended);
    EXPECT_EQ(step.loss, 0);
    EXPECT_EQ(weights[0], 0);
}

}  // namespace tutti
