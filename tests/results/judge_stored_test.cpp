// SPDX-License-Identifier: Apache-2.0
#include "results/stored/judge_stored.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "tests/base/messages.hpp"

namespace tutti {
namespace {

class StoredLaunches {
public:
    explicit StoredLaunches(unsigned seed) : random_(seed) {}

    // A takes 20 us and B `ratio` times as long; launches differ by some percent.
    StoredMetric metric(double ratio, int of_a, int of_b) {
        StoredMetric metric;
        for (int i = 0; i < of_a; ++i) metric.a.push_back(std::log(20'000) + noise_(random_));
        for (int i = 0; i < of_b; ++i)
            metric.b.push_back(std::log(20'000 * ratio) + noise_(random_));
        return metric;
    }

private:
    std::mt19937 random_;
    std::normal_distribution<double> noise_{0, 0.03};
};

Judgement judged(const StoredMetric& metric) {
    return judge_stored(std::vector{metric}, {}).front();
}

TEST(StoredJudgement, NamesWhatHappened) {
    StoredLaunches launches(1);
    EXPECT_EQ(judged(launches.metric(1.2, 10, 10)).change, Change::slower);
    EXPECT_EQ(judged(launches.metric(1 / 1.2, 10, 10)).change, Change::faster);
    EXPECT_EQ(judged(launches.metric(1, 60, 60)).change, Change::same);
    EXPECT_EQ(judged(launches.metric(1, 6, 6)).change, Change::undecided);
}

TEST(StoredJudgement, OneLaunchOfEachDecidesNothingHoweverFarApart) {
    const Judgement judgement = judged(StoredLaunches(2).metric(10, 1, 1));
    EXPECT_EQ(judgement.change, Change::undecided);
    EXPECT_TRUE(holds(judgement.reason, "5 launches"));
    EXPECT_TRUE(std::isinf(judgement.visible));
}

// Pairs are apart by 1 to 4: of ten, nine by no more than 3.
TEST(StoredJudgement, NoiseIsTheDifferenceThatNineOfTenPairsOfLaunchesStayBelow) {
    EXPECT_EQ(noise_between(std::vector<double>{1, 2, 3, 4, 5}), 3);
    EXPECT_EQ(noise_between(std::vector<double>{4, 1}), 3);
    EXPECT_EQ(noise_between(std::vector<double>{4}), 0);
}

// Sure, but no more than what launches of one side differ by.
TEST(StoredJudgement, AChangeBelowTheNoiseBetweenLaunchesIsNone) {
    StoredMetric metric;
    for (int i = 0; i < 10; ++i) {
        metric.a.push_back(0.01 * i);
        metric.b.push_back(0.01 * i + 0.065);
    }
    const Judgement judgement = judged(metric);
    EXPECT_LT(judgement.shift.p, 0.02);
    EXPECT_GT(judgement.shift.low, 0);
    EXPECT_EQ(judgement.change, Change::undecided);
    EXPECT_TRUE(holds(judgement.reason, "7.3 %"));
    for (double& b : metric.b) b += 0.03;
    EXPECT_EQ(judged(metric).change, Change::slower);
    metric.b[0] -= 1;  // B's own launches differ by more
    metric.b[1] += 1;
    EXPECT_EQ(judged(metric).change, Change::undecided);
}

// All metrics together must rarely give a false alarm.
TEST(StoredJudgement, ManyMetricsNeedMore) {
    StoredLaunches launches(3);
    std::vector<StoredMetric> metrics(50, launches.metric(1, 5, 5));
    metrics[0] = launches.metric(2, 5, 5);
    EXPECT_EQ(judged(metrics[0]).change, Change::slower);
    EXPECT_EQ(judge_stored(metrics, {})[0].change, Change::undecided);
}

// 200 comparisons of four metrics without a change: 4 wrong ones are 2 %.
TEST(StoredJudgement, GivesNoMoreFalseAlarmsThanItsLevel) {
    StoredLaunches launches(4);
    int by_rule = 0, by_interval = 0;
    for (int i = 0; i < 200; ++i) {
        std::vector<StoredMetric> metrics;
        for (int k = 0; k < 4; ++k) metrics.push_back(launches.metric(1, 8, 8));
        bool any = false;
        for (const Judgement& judgement : judge_stored(metrics, {})) {
            any = any || judgement.change == Change::slower || judgement.change == Change::faster;
            by_interval += judgement.shift.low > 0 || judgement.shift.high < 0 ? 1 : 0;
        }
        by_rule += any ? 1 : 0;
    }
    EXPECT_LE(by_rule, 4);
    EXPECT_LE(by_interval, 26);  // 16 of 800 metrics are expected, with a deviation of 4
    EXPECT_GE(by_interval, 3);
}

}  // namespace
}  // namespace tutti
