// SPDX-License-Identifier: Apache-2.0
// Lessons on a model machine: times are known, so is what was lost.
#include "autotune/online/learn.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <random>

#include "base/index.hpp"

namespace tutti {
namespace {

constexpr double loss_bound = 0.05;
constexpr double exchange_ns = 20'000;
constexpr double plan_making_ns = 300'000;

struct Noise {
    double spread = 0.05;     // relative, in both directions
    double outliers = 0.01;   // share of calls that the system interrupts
    double interrupted = 10;  // factor of the incumbent's time
};

// A program that makes one kind of call. The times of the arms may change on the way.
class ProgramOfArms {
public:
    ProgramOfArms(std::vector<double> arms_ns, int incumbent, unsigned seed, Noise noise = {})
        : arms_ns_(std::move(arms_ns)),
          first_(incumbent),
          noise_(noise),
          dice_(seed),
          budget_(loss_bound),
          lesson_({.arms = static_cast<int>(arms_ns_.size()),
                   .incumbent = incumbent,
                   .exchange_ns = exchange_ns,
                   .least_call_ns = at(arms_ns_, incumbent) / 2}),
          has_plan_(arms_ns_.size(), false) {}

    void change_to(std::vector<double> arms_ns) { arms_ns_ = std::move(arms_ns); }

    // Makes at least this many calls.
    void go_on_for(std::int64_t calls) {
        for (const std::int64_t end = calls_ + calls; calls_ < end;) take_round();
    }

    double highest_regret() const { return highest_regret_; }
    double time_of_choice() const { return at(arms_ns_, lesson_.incumbent()); }
    double best_time() const { return *std::ranges::min_element(arms_ns_); }
    const OnlineSearch& search() const { return lesson_; }
    std::int64_t calls_of(int arm) const {
        const auto known = calls_of_.find(arm);
        return known == calls_of_.end() ? 0 : known->second;
    }
    // Whether the worst is within the bound all the time is checked by highest_regret();
    // whether the budget itself is honest, by this.
    double counted_loss() const { return budget_.lost_ns(); }
    double true_loss() const { return spent_ - without_ns_; }

private:
    void take_round() {
        const Round round = lesson_.next(budget_);
        ASSERT_GT(round.calls, 0);
        std::vector<double> samples;
        RoundTimes times{.exchange = exchange_ns};
        const auto arm = static_cast<std::size_t>(round.arm);
        if (!has_plan_[arm]) times.making = times.longest_making = plan_making_ns;
        has_plan_[arm] = true;
        if (round.arm != first_) spend(times.making);  // the first one's plan is needed anyway
        for (std::int64_t call = 0; call < round.calls; ++call) {
            const double interruption =
                unit(dice_) < noise_.outliers ? noise_.interrupted * at(arms_ns_, first_) : 0;
            const double noise = jitter();  // the first one would have met it, too
            const double time = arms_ns_[arm] * noise + interruption;
            samples.push_back(time);
            times.calls += time;
            without_ns_ += at(arms_ns_, first_) * noise + interruption;
            spend(time);
        }
        calls_ += round.calls;
        calls_of_[round.arm] += round.calls;
        samples = means(samples, static_cast<std::size_t>(lesson_.calls_of_sample()));
        if (samples.size() > 16) samples.resize(16);
        times.samples = samples;
        spend(exchange_ns);
        budget_.spend(times.calls + times.making + times.exchange);
        lesson_.record(round, times, budget_);
    }

    static std::vector<double> means(const std::vector<double>& times, std::size_t of_calls) {
        std::vector<double> means;
        for (std::size_t i = 0; i + of_calls <= times.size(); i += of_calls) {
            double sum = 0;
            for (std::size_t call = i; call < i + of_calls; ++call) sum += times[call];
            means.push_back(sum / static_cast<double>(of_calls));
        }
        return means;
    }

    void spend(double ns) {
        spent_ += ns;
        highest_regret_ = std::max(highest_regret_, (spent_ - without_ns_) / spent_);
    }

    double jitter() { return std::exp(std::normal_distribution<double>(0, noise_.spread)(dice_)); }

    std::vector<double> arms_ns_;
    int first_;
    Noise noise_;
    std::mt19937 dice_;
    std::uniform_real_distribution<double> unit{0, 1};
    RegretBudget budget_;
    OnlineSearch lesson_;
    std::vector<bool> has_plan_;
    std::map<int, std::int64_t> calls_of_;
    std::int64_t calls_ = 0;
    double spent_ = 0, without_ns_ = 0, highest_regret_ = 0;
};

// A call takes as long as an all-reduce of a few KiB, or of a MiB. The shorter it is, the more
// exchanges and plans cost relative to it.
class OnlineLearning : public testing::TestWithParam<double> {
protected:
    // Number of calls that take some seconds.
    static std::int64_t frequent() { return GetParam() < 1e5 ? 600'000 : 100'000; }
};

TEST_P(OnlineLearning, FindsAnArmNearTheBestAndNeverLosesMoreThanItsBound) {
    for (unsigned seed = 0; seed < 10; ++seed) {
        std::mt19937 dice(seed);
        std::vector<double> arms;
        for (int i = 0; i < 12; ++i)
            arms.push_back(GetParam() * std::uniform_real_distribution<double>(0.5, 4)(dice));
        ProgramOfArms program(arms, static_cast<int>(seed % 12), seed);
        program.go_on_for(frequent());
        EXPECT_LE(program.time_of_choice(), 1.05 * program.best_time()) << "seed " << seed;
        EXPECT_LE(program.highest_regret(), loss_bound) << "seed " << seed;
        EXPECT_TRUE(program.search().is_settled()) << "seed " << seed;
        for (int arm = 0; arm < 12; ++arm)
            EXPECT_EQ(program.search().is_candidate(arm), arm == program.search().incumbent());
    }
}

TEST_P(OnlineLearning, HoldsItsBoundAgainstHostileArms) {
    for (unsigned seed = 0; seed < 10; ++seed) {
        std::vector<double> arms(20, 50 * GetParam());
        arms[0] = GetParam();
        ProgramOfArms program(arms, 0, seed);
        program.go_on_for(frequent());
        EXPECT_LE(program.highest_regret(), loss_bound) << "seed " << seed;
        EXPECT_EQ(program.search().incumbent(), 0);
        for (int arm = 1; arm < 20; ++arm) EXPECT_LE(program.calls_of(arm), 2);
    }
}

TEST_P(OnlineLearning, HoldsItsBoundInMuchNoise) {
    for (unsigned seed = 0; seed < 10; ++seed) {
        std::vector<double> arms;
        for (int i = 0; i < 10; ++i) arms.push_back(GetParam() * (1 + 0.1 * i));
        ProgramOfArms program(arms, 5, seed, {.spread = 0.4, .outliers = 0.03, .interrupted = 20});
        program.go_on_for(frequent() / 2);
        EXPECT_LE(program.highest_regret(), loss_bound) << "seed " << seed;
        EXPECT_LE(program.time_of_choice(), 1.5 * GetParam()) << "worse than it began";
    }
}

TEST_P(OnlineLearning, RestartsWhenTheMachineChanges) {
    for (unsigned seed = 0; seed < 10; ++seed) {
        const double unit = GetParam();
        ProgramOfArms program({unit, 1.5 * unit, 3 * unit}, 1, seed);
        program.go_on_for(frequent());
        EXPECT_EQ(program.search().incumbent(), 0);
        program.change_to({4 * unit, 1.5 * unit, unit});
        program.go_on_for(frequent());
        EXPECT_EQ(program.search().incumbent(), 2) << "seed " << seed;
        EXPECT_LE(program.highest_regret(), loss_bound);
    }
}

INSTANTIATE_TEST_SUITE_P(Sizes, OnlineLearning, testing::Values(3e3, 1e6), [](const auto& param) {
    return param.param < 1e5 ? "SmallMessages" : "LargeMessages";
});

TEST(OnlineSearch, CountsAtLeastWhatIsLost) {
    ProgramOfArms program({1e5, 1.8e5, 0.9e5, 3e5}, 0, 4);
    program.go_on_for(50'000);
    EXPECT_GE(program.counted_loss(), program.true_loss());
}

TEST(OnlineSearch, WithoutOthersOnlyWatches) {
    ProgramOfArms program({1e5}, 0, 1);
    program.go_on_for(20'000);
    EXPECT_TRUE(program.search().is_settled());
    EXPECT_LE(program.highest_regret(), 0.01);
}

// The same times lead to the same decisions; so ranks agree.
TEST(OnlineSearch, IsDeterministic) {
    ProgramOfArms one({1e5, 8e4, 2e5}, 0, 9), other({1e5, 8e4, 2e5}, 0, 9);
    one.go_on_for(5000);
    other.go_on_for(5000);
    for (int arm = 0; arm < 3; ++arm) EXPECT_EQ(one.calls_of(arm), other.calls_of(arm));
}

TEST(OnlineSearch, DoesNotTryWhatCannotBe) {
    OnlineSearch search({.arms = 2, .incumbent = 0, .exchange_ns = 1, .least_call_ns = 1000});
    RegretBudget budget(loss_bound);
    search.exclude(1);
    const std::vector<double> samples(16, 1000.0);
    for (int i = 0; i < 100; ++i) {
        const Round round = search.next(budget);
        EXPECT_EQ(round.arm, 0);
        budget.spend(1000.0 * static_cast<double>(round.calls));
        search.record(round,
                      {.samples = samples, .calls = 1000.0 * static_cast<double>(round.calls)},
                      budget);
    }
    EXPECT_TRUE(search.is_settled());
    EXPECT_FALSE(search.runner_up());
    EXPECT_EQ(search.time_of(0)->p50, 1000);
}

}  // namespace
}  // namespace tutti
