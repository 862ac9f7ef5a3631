// SPDX-License-Identifier: Apache-2.0
#include "collectives/execute/plan/plan_choice.hpp"

#include <gtest/gtest.h>

#include <random>
#include <vector>

namespace tutti {
namespace {

// Simulates ranks that run the same calls. `times` has the time by rank and plan, in ns. The first
// run after a change of the plan takes three times as long.
class Ranks {
public:
    explicit Ranks(std::vector<std::vector<std::int64_t>> times)
        : times_(std::move(times)),
          choices_(times_.size(), PlanChoice(static_cast<int>(times_[0].size()))) {}

    void change(std::vector<std::vector<std::int64_t>> times) { times_ = std::move(times); }

    /// Returns how many of the next `calls` calls used this plan.
    int calls_of(int plan, int calls) {
        int counted = 0;
        for (int call = 0; call < calls; ++call) counted += run() == plan ? 1 : 0;
        return counted;
    }

    /// From now on, calls have this many bytes and take longer accordingly.
    void set_length(std::int64_t bytes) { bytes_ = bytes; }

    /// Runs a call and returns the plan that all ranks used.
    int run(std::int64_t delay_of_first_rank = 0) {
        std::vector<PlanChoice::Times> all_times;
        for (const PlanChoice& choice : choices_) {
            EXPECT_EQ(choice.must_agree(), choices_[0].must_agree());
            all_times.push_back(choice.times());
        }
        if (choices_[0].must_agree())
            for (PlanChoice& choice : choices_) choice.agree(all_times);
        const int plan = choices_[0].current();
        for (std::size_t rank = 0; rank < choices_.size(); ++rank) {
            EXPECT_EQ(choices_[rank].current(), plan);
            const std::int64_t ns = times_[rank][static_cast<std::size_t>(plan)];
            choices_[rank].record(
                for_length(ns) * (plan != before_ ? 3 : 1) + (rank == 0 ? delay_of_first_rank : 0),
                bytes_);
        }
        before_ = plan;
        return plan;
    }

private:
    std::int64_t for_length(std::int64_t ns) const { return ns + ns * bytes_ / 10'000; }

    std::vector<std::vector<std::int64_t>> times_;
    std::vector<PlanChoice> choices_;
    int before_ = -1;
    std::int64_t bytes_ = 0;
};

TEST(PlanChoice, TakesTheFirstPlanFirst) { EXPECT_EQ(Ranks({{200, 100, 100}}).run(), 0); }

TEST(PlanChoice, TakesTheFastest) {
    for (const std::size_t best : {0, 1, 2}) {
        std::vector<std::int64_t> times{1000, 1100, 1200};
        times[best] = 700;
        Ranks ranks({times, times});
        ranks.calls_of(0, 10);  // one, then three of each
        EXPECT_EQ(ranks.calls_of(static_cast<int>(best), 30), 30);
    }
}

TEST(PlanChoice, TheSlowestRankCounts) {
    Ranks ranks({{100, 400}, {500, 300}});
    ranks.calls_of(0, 7);
    EXPECT_EQ(ranks.run(), 1);
}

// The slowest rank of the second plan takes slightly longer, but the other one leaves much earlier.
TEST(PlanChoice, TheMeanCounts) {
    Ranks ranks({{300, 305}, {300, 200}});
    ranks.calls_of(0, 7);
    EXPECT_EQ(ranks.run(), 1);
}

TEST(PlanChoice, TrialsCostTwoPerCent) {
    for (const std::int64_t slow : {105, 150, 1000, 2000}) {
        Ranks ranks({{100, slow}});
        ranks.calls_of(0, 300);  // two trials
        const int calls = 20'000;
        const int slower = ranks.calls_of(1, calls);
        EXPECT_GT(slower, 0) << slow;
        EXPECT_LT(static_cast<double>(slower) * static_cast<double>(slow - 100),
                  0.021 * 100 * calls)
            << slow;
    }
}

// The second trial begins after 32 to 128 calls. The fastest plan and one that is nearly as fast
// have one ignored run and three that count, a much slower one has a single run.
TEST(PlanChoice, TriesMuchSlowerPlansOnce) {
    for (const auto& [slow, runs] : {std::pair{120, 4}, std::pair{200, 1}}) {
        Ranks ranks({{100, slow}});
        ranks.calls_of(0, 7);
        EXPECT_EQ(ranks.calls_of(1, 170), runs) << slow;
    }
}

TEST(PlanChoice, FollowsTheMachineWhenItChanges) {
    Ranks ranks({{700, 1000}, {700, 900}});
    ranks.calls_of(0, 2000);
    ranks.change({{700, 500}, {800, 600}});
    ranks.calls_of(0, 500);
    EXPECT_GE(ranks.calls_of(1, 500), 470);
}

// The slow plan now takes 70 ns, but 210 ns in its single run, which has cold caches. Only a fourth
// trial, which runs it untimed first, shows the change.
TEST(PlanChoice, FollowsAMuchSlowerPlanThatBecomesTheFastest) {
    Ranks ranks({{100, 200}});
    ranks.calls_of(0, 2000);
    ranks.change({{100, 70}});
    ranks.calls_of(0, 2000);
    EXPECT_GE(ranks.calls_of(1, 500), 470);
}

// Each trial sees calls of other lengths of the octave.
TEST(PlanChoice, ComparesCallsOfDifferentLengths) {
    Ranks ranks({{1000, 940}});
    std::vector<int> runs(2);
    std::mt19937 dice(1);
    for (int call = 0; call < 3000; ++call) {
        ranks.set_length(32'768 + dice() % 32'768);
        ++runs[static_cast<std::size_t>(ranks.run())];
    }
    EXPECT_GE(runs[1], 2700);
}

TEST(PlanChoice, ForgivesASingleSlowCall) {
    Ranks ranks({{100, 200}});
    for (int call = 0; call < 7; ++call) ranks.run(call == 3 ? 50'000 : 0);
    EXPECT_EQ(ranks.run(), 0);
}

// The first trial delays the fastest plan, so the other one (200 ns) is chosen. In the second
// trial, the fastest plan has one run with cold caches: 300 ns, which is not more than 1.5 times
// 200. So a third trial follows soon and chooses it.
TEST(PlanChoice, SoonFindsThatTheFirstTrialWasDisturbed) {
    for (const int best : {0, 1})
        for (const std::int64_t delay : {500, 50'000}) {
            Ranks ranks({{100 + 100 * best, 200 - 100 * best}});
            for (int call = 0; call < 7; ++call) {
                const bool is_trial_of_best = call >= 1 + 3 * best && call < 4 + 3 * best;
                ranks.run(is_trial_of_best ? delay : 0);
            }
            EXPECT_EQ(ranks.run(), 1 - best);
            ranks.calls_of(0, 180);
            EXPECT_GE(ranks.calls_of(best, 200), 196);
        }
}

}  // namespace
}  // namespace tutti
