// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>

#include "results/comparison/comparison_records.hpp"
#include "tests/base/messages.hpp"

namespace tutti {
namespace {

constexpr double spread = 0.02;  // deviation of a launch's log ratio

class Launches {
public:
    explicit Launches(unsigned seed) : random_(seed) {}

    // B takes `ratio` times as long.
    ComparedMetric metric(double ratio, int launches, double noise_of_b = 0) {
        ComparedMetric metric;
        for (int i = 0; i < launches; ++i) {
            metric.changes.push_back(std::log(ratio) + noise_(random_));
            metric.noise_of_a.push_back(noise_(random_));
            metric.noise_of_b.push_back(noise_of_b + noise_(random_));
        }
        return metric;
    }

private:
    std::mt19937 random_;
    std::normal_distribution<double> noise_{0, spread};
};

Change change_of(const ComparedMetric& metric) {
    return judge(std::vector{metric}, {}).front().change;
}

TEST(Judgement, NamesWhatHappened) {
    Launches launches(1);
    EXPECT_EQ(change_of(launches.metric(1.1, 15)), Change::slower);
    EXPECT_EQ(change_of(launches.metric(1 / 1.1, 15)), Change::faster);
    EXPECT_EQ(change_of(launches.metric(1, 40)), Change::same);
    EXPECT_EQ(change_of(launches.metric(1.025, 15)), Change::undecided);
}

TEST(Judgement, FewLaunchesDecideNothing) {
    const Judgement judgement = judge(std::vector{Launches(2).metric(1.5, 6)}, {}).front();
    EXPECT_EQ(judgement.change, Change::undecided);
    EXPECT_TRUE(holds(judgement.reason, "6 launches"));
    EXPECT_TRUE(std::isinf(judgement.visible));
    EXPECT_EQ(judge(std::vector{ComparedMetric{}}, {}).front().change, Change::undecided);
}

// Sure, but small.
TEST(Judgement, AChangeBelowTheMinimumEffectIsNone) {
    Launches launches(3);
    ComparedMetric metric = launches.metric(1, 15);
    for (double& change : metric.changes) change = change / 20 + std::log(1.02);
    EXPECT_EQ(change_of(metric), Change::same);
    EXPECT_EQ(judge(std::vector{metric}, {.min_effect = 0.01}).front().change, Change::slower);
}

TEST(Judgement, AProgramThatDiffersFromItselfIsNotJudged) {
    const Judgement judgement = judge(std::vector{Launches(4).metric(1.1, 15, 0.2)}, {}).front();
    EXPECT_EQ(judgement.change, Change::undecided);
    EXPECT_NEAR(judgement.noise, 0.2, 0.02);
    EXPECT_GT(judgement.visible, 0.2);
    EXPECT_TRUE(holds(judgement.reason, "from itself"));
}

// Seven launches of one sign have p = 1/64 each: enough alone, too little among ten.
TEST(Judgement, ManyMetricsNeedStrongerEvidence) {
    Launches launches(5);
    const std::vector one{launches.metric(1.2, 7)};
    EXPECT_EQ(judge(one, {}).front().change, Change::slower);
    const std::vector ten(10, one.front());
    for (const Judgement& judgement : judge(ten, {})) {
        EXPECT_EQ(judgement.change, Change::undecided);
        EXPECT_NEAR(judgement.adjusted_p, 10. / 64, 1e-9);
    }
}

TEST(Judgement, OfEqualProgramsOneInAHundredComparisonsIsAFalseAlarmAtMost) {
    Launches launches(6);
    int alarms = 0;
    constexpr int comparisons = 1000;
    for (int i = 0; i < comparisons; ++i) {
        std::vector<ComparedMetric> metrics;
        for (int metric = 0; metric < 9; ++metric) metrics.push_back(launches.metric(1, 12));
        alarms += std::ranges::any_of(judge(metrics, {}), [](const Judgement& judgement) {
            return judgement.change == Change::slower || judgement.change == Change::faster;
        });
    }
    EXPECT_LE(alarms, comparisons / 100);
}

// 2.5 % more, the minimum effect, is the least that must not be called the same.
TEST(Judgement, AChangeOfTheMinimumEffectIsHardlyEverCalledTheSame) {
    Launches launches(7);
    int same = 0;
    for (int i = 0; i < 1000; ++i) same += change_of(launches.metric(1.025, 40)) == Change::same;
    EXPECT_LE(same, 6);  // by an interval of 98 % alone it would be twice as many
}

// With an interval just within the minimum effect, a change of less than half of it is none; a
// larger one must be sure.
TEST(Judgement, ASmallChangeIsTheSameOnlyWithANarrowInterval) {
    ComparedMetric metric;
    for (const double percent : {0.2, 0.4, 0.6, 0.8, 1.0, 1.2, 1.4, 1.6, 1.8, 2.0})
        metric.changes.push_back(std::log1p(percent / 100));  // 99.8 % needs all 10 launches
    EXPECT_EQ(change_of(metric), Change::same);
    for (double& change : metric.changes) change += std::log1p(0.004);
    EXPECT_EQ(change_of(metric), Change::same);
    metric.changes.back() = std::log1p(0.03);
    const Judgement judgement = judge(std::vector{metric}, {}).front();
    EXPECT_EQ(judgement.change, Change::undecided);
    EXPECT_LT(judgement.shift.high, std::log1p(0.025));
    EXPECT_TRUE(holds(judgement.reason, "99.8 %"));
}

TEST(Judgement, TheMeanOfMetricsOfTheSameLaunchesIsThatOfTheirMeans) {
    const ComparedMetric a{
        .name = "a", .changes = {0.1, 0.2}, .noise_of_a = {0, 0.2}, .noise_of_b = {0, 0}};
    const ComparedMetric b{
        .name = "b", .changes = {0.3, 0}, .noise_of_a = {0.4, 0}, .noise_of_b = {0, 0}};
    const std::vector<MeasuredTogether> groups{{{1, 2}, {a, b}}, {{}, {{.name = "none"}}}};
    const auto mean = judge_mean(groups, {});
    ASSERT_TRUE(mean);
    EXPECT_EQ(mean->shift, shift_of(std::vector{0.2, 0.1}, 0.98));
    EXPECT_NEAR(mean->noise, 0.15, 1e-12);
    EXPECT_FALSE(judge_mean(std::vector<MeasuredTogether>{{{1, 2}, {a}}}, {}));
}

TEST(Judgement, ARateIsSlowerIfItFalls) {
    Launches launches(13);
    for (const auto& [ratio, change] :
         {std::pair{0.9, Change::slower}, {1.1, Change::faster}, {1.0, Change::same}}) {
        ComparedMetric rate = launches.metric(ratio, 40);
        rate.higher_is_better = true;
        const Judgement judgement = judge(std::vector{rate}, {}).front();
        EXPECT_EQ(judgement.change, change) << ratio;
        EXPECT_NEAR(judgement.shift.estimate, std::log(ratio), 0.02);
    }
}

TEST(Judgement, TheMeanIsARateIfAllMetricsAreRates) {
    Launches launches(14);
    std::vector<int> numbers;
    for (int number = 1; number <= 40; ++number) numbers.push_back(number);
    MeasuredTogether group{numbers, {launches.metric(0.9, 40), launches.metric(0.9, 40)}};
    for (ComparedMetric& metric : group.metrics) metric.higher_is_better = true;
    const Judgement of_rates = judge_mean({&group, 1}, {}).value();
    EXPECT_TRUE(of_rates.higher_is_better);
    EXPECT_EQ(of_rates.change, Change::slower);
    EXPECT_LT(of_rates.shift.estimate, -0.09);
    group.metrics.push_back(launches.metric(1.1, 40));  // a time that grew
    const Judgement mixed = judge_mean({&group, 1}, {}).value();
    EXPECT_FALSE(mixed.higher_is_better);
    EXPECT_EQ(mixed.change, Change::slower);
    EXPECT_GT(mixed.shift.estimate, 0.09);
    // A rate within -1 to +3 % and a time within -2 to +1 %: as times, -3 to +1 and -2 to +1 %.
    std::vector<Judgement> same(2);
    same[0].higher_is_better = true;
    same[0].shift = {.estimate = 0.02, .low = -0.01, .high = 0.03};
    same[1].shift = {.estimate = 0, .low = -0.02, .high = 0.01};
    const Judgement mean = of_mean_of_same(same, mixed, {});
    EXPECT_DOUBLE_EQ(mean.shift.estimate, -0.01);
    EXPECT_DOUBLE_EQ(mean.shift.low, -0.025);
    EXPECT_DOUBLE_EQ(mean.shift.high, 0.01);
}

// With the number of launches that it names, nine of ten comparisons are decided.
TEST(Judgement, SaysHowManyLaunchesDecide) {
    const Rule rule = rule_of_look({}, 1, true);
    constexpr int few = 8;
    const double half = 2.326 * spread / std::sqrt(few);  // the reach of a 98 % interval
    for (const double ratio : {1.015, 1.03}) {
        Judgement now;
        now.shift = {.n = few,
                     .estimate = std::log(ratio),
                     .low = std::log(ratio) - half,
                     .high = std::log(ratio) + half};
        const int enough = static_cast<int>(few * more_launches(now, rule).value());
        Launches launches(15);
        int decided_by_few = 0, decided = 0;
        for (int i = 0; i < 300; ++i) {
            const auto is_decided = [&](int number) {
                return judge(std::vector{launches.metric(ratio, number)}, rule)[0].change !=
                       Change::undecided;
            };
            decided_by_few += is_decided(few);
            decided += is_decided(enough);
        }
        EXPECT_LT(decided_by_few, 100) << ratio;
        EXPECT_GE(decided, 225) << ratio << ": " << enough << " launches";
    }
    Judgement at_the_limit;
    const double limit = std::log1p(rule.min_effect);
    at_the_limit.shift = {.n = few, .estimate = limit, .low = limit - half, .high = limit + half};
    EXPECT_FALSE(more_launches(at_the_limit, rule));
    EXPECT_FALSE(more_launches(judge(std::vector{Launches(2).metric(1.5, 6)}, rule)[0], rule));
}

TEST(Judgement, SaysWhatWouldDecide) {
    Judgement open;
    open.shift = open.sure = {.n = 12, .estimate = 0, .low = -0.05, .high = 0.05};
    const auto said = [&](double seconds) { return to_decide(open, {}, seconds); };
    const std::string text = said(0.5);
    EXPECT_TRUE(holds(text, "use --budget "));
    const int launches = std::stoi(text.substr(text.find("about ") + 6));
    EXPECT_GT(launches, 7 + 12 * 10);
    EXPECT_LT(launches, 7 + 12 * 20);
    EXPECT_TRUE(holds(text, fmt::format("--budget {:.0f}s ", 10 * std::ceil(launches / 20.))));
    EXPECT_TRUE(holds(said(5), fmt::format("--budget {:.0f}m ", std::ceil(launches * 5 / 60.))));
    EXPECT_TRUE(holds(said(3600), {"quieter machine", "--min-effect"}));
    EXPECT_TRUE(holds(said(0), {"larger --budget", "launches"}));  // the time is not known
    open.shift.low = -(open.shift.high = 0.5);  // would need more launches than a comparison has
    EXPECT_TRUE(holds(said(1e-3), {"quieter machine", "--min-effect"}));
    open.shift = open.sure = {.n = 90, .estimate = 0.0247, .low = 0.0246, .high = 0.0248};
    EXPECT_TRUE(holds(said(1), {"another --min-effect", "2.5 %"}));
    open.shift = open.sure = {.n = 12, .estimate = 0.05, .low = 0.03, .high = 0.07};
    open.noise = 0.06;
    EXPECT_TRUE(holds(said(1), {"quieter machine", "6.2 %"}));
    open.shift.low = -std::numeric_limits<double>::infinity();
    EXPECT_TRUE(holds(said(1), {"--budget", "fewer metrics"}));
    open.change = Change::same;
    EXPECT_EQ(said(1), "");
}

TEST(Judgement, KnowsWhenHugePagesWouldHelp) {
    for (const char* setting : {"always within_size advise [never] deny force", "never [deny]"}) {
        EXPECT_TRUE(would_profit_from_huge_pages("all_reduce 256K float sum", setting));
        EXPECT_FALSE(would_profit_from_huge_pages("all_reduce 128K float sum", setting));
    }
    EXPECT_FALSE(would_profit_from_huge_pages("all_reduce 1M float", "never [advise] deny"));
    EXPECT_FALSE(would_profit_from_huge_pages("all_reduce 1M float", ""));
    EXPECT_FALSE(would_profit_from_huge_pages("step", "[never]"));
}

// One metric of four was settled after a few launches.
TEST(Judgement, TheMeanUsesAllLaunchesOfEachMetric) {
    Launches launches(10);
    const auto group = [&](double ratio, int first, int last, std::size_t metrics) {
        MeasuredTogether made;
        for (int number = first; number <= last; ++number) made.launches.push_back(number);
        while (made.metrics.size() < metrics)
            made.metrics.push_back(launches.metric(ratio, last - first + 1));
        return made;
    };
    const MeasuredTogether few = group(1, 1, 7, 1), many = group(1.1, 1, 60, 3);
    const auto width = [](const Shift& shift) { return shift.high - shift.low; };
    const Judgement mean = judge_mean(std::vector{few, many}, {}).value();
    EXPECT_NEAR(mean.shift.estimate, std::log(1.1) * 3 / 4, 0.01);
    EXPECT_EQ(mean.change, Change::slower) << mean.reason;
    EXPECT_EQ(mean.shift.n, 60U);
    EXPECT_LT(width(mean.shift), width(judge(few.metrics, {})[0].shift) / 2);
    const MeasuredTogether first = group(1, 1, 7, 4);  // the launches that measured all
    EXPECT_LT(width(mean.shift), width(judge_mean({&first, 1}, {}).value().shift));
    // Metrics that are settled early vary little.
    MeasuredTogether narrow = few;
    for (double& change : narrow.metrics[0].changes) change /= 4;
    for (const ComparedMetric& metric : many.metrics)
        EXPECT_LT(width(judge_mean(std::vector{narrow, many}, {}).value().shift),
                  width(judge(std::vector{metric}, {})[0].shift));
    // Launches that all groups share can move all of them alike.
    const MeasuredTogether same[]{group(1, 1, 20, 1), group(1, 1, 20, 1)};
    double members = 0;
    for (const MeasuredTogether& one : same) members += width(judge(one.metrics, {})[0].shift) / 2;
    EXPECT_NEAR(width(judge_mean(same, {}).value().shift), members, members / 100);
    // The p-value fits to the interval.
    for (int i = 0; i < 20; ++i) {
        const std::vector groups{group(1.001, 1, 30, 2), group(1 + i / 1000., 20, 40, 1)};
        const Judgement one = judge_mean(groups, {}).value();
        EXPECT_EQ(one.shift.p<0.02, one.shift.low> 0 || one.shift.high < 0) << i;
    }
}

TEST(Judgement, TheSharesOfAllLooksAddUpToOne) {
    for (int last = 1; last <= 9; ++last) {
        double spent = 0;
        for (int look = 1; look <= last; ++look)
            spent += rule_of_look({}, look, look == last).share;
        EXPECT_NEAR(spent, 1, 1e-12);
    }
    EXPECT_NEAR(rule_of_look({}, 3, false).level(), 0.002 / 12, 1e-12);
}

// All of 20 launches have one sign, 12 do not suffice at the sixth look.
TEST(Judgement, ASmallShareNeedsStrongerEvidence) {
    const auto change_at = [&](int launches, int look) {
        return judge(std::vector{Launches(11).metric(1.2, launches)}, rule_of_look({}, look, false))
            .front()
            .change;
    };
    EXPECT_EQ(change_at(12, 1), Change::slower);
    EXPECT_EQ(change_at(12, 6), Change::undecided);
    EXPECT_EQ(change_at(20, 6), Change::slower);
    ComparedMetric metric{.changes = std::vector<double>(12, 0.001)};
    EXPECT_EQ(judge(std::vector{metric}, rule_of_look({}, 1, false))[0].change, Change::same);
    metric.changes.back() = 0.04;  // within an interval of 98 %, but not within the wider one
    EXPECT_EQ(judge(std::vector{metric}, {})[0].change, Change::same);
    EXPECT_EQ(judge(std::vector{metric}, rule_of_look({}, 6, false))[0].change, Change::undecided);
}

// That number of launches then shows the change in nine of ten trials.
TEST(Judgement, SaysHowManyLaunchesAWishNeeds) {
    for (const double wished : {0.04, 0.05, 0.1}) {
        const auto needed = launches_for(Launches(8).metric(1, 200), wished, {});
        ASSERT_TRUE(needed);
        Launches launches(9);
        int seen = 0;
        for (int i = 0; i < 300; ++i)
            seen += change_of(launches.metric(1 + wished, *needed)) == Change::slower;
        EXPECT_GE(seen, 240) << *needed << " launches";
        EXPECT_LE(*needed, 20);
    }
    EXPECT_FALSE(launches_for(Launches(8).metric(1, 2), 0.05, {}));
    // Half of the changes of the minimum effect look smaller, however many launches there are.
    EXPECT_FALSE(launches_for(Launches(8).metric(1, 20), 0.025, {}));
}

// `visible` and smallest_change promise nine of ten.
TEST(Judgement, SaysWhichChangeIsSeenNineTimesOfTen) {
    for (const int count : {16, 40}) {
        Launches launches(12);
        const ComparedMetric now = launches.metric(1, count);
        const auto calls = [&](double change, const Rule& rule) {
            int slower = 0;
            for (int i = 0; i < 300; ++i)
                slower += judge(std::vector{launches.metric(1 + change, count)}, rule)[0].change ==
                          Change::slower;
            return slower;
        };
        const double visible = judge(std::vector{now}, {})[0].visible;
        EXPECT_GE(calls(visible, {}), 240) << visible;
        EXPECT_LE(visible, count == 16 ? 0.04 : 0.035);
        const Rule sure = rule_of_look({}, 1, true);
        const auto smallest = smallest_change(launches.metric(1, 500), count, sure);
        ASSERT_TRUE(smallest);
        Rule half = sure;
        half.min_effect = *smallest / 2;
        EXPECT_GE(calls(*smallest, half), 255) << *smallest;
        EXPECT_LE(calls(*smallest * 0.7, half), 255) << *smallest;
    }
    EXPECT_FALSE(smallest_change(Launches(8).metric(1, 20), 6, {}));
    EXPECT_FALSE(smallest_change(Launches(8).metric(1, 2), 20, {}));
}

}  // namespace
}  // namespace tutti
