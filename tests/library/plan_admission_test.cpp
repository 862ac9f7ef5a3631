// SPDX-License-Identifier: Apache-2.0
#include "library/plan_admission.hpp"

#include <gtest/gtest.h>

#include <random>
#include <set>

#include "collectives/world/world.hpp"

namespace tutti {
namespace {

using Times = PlanAdmission::Times;

// Returns the times of a program that has run for hours and has spent nothing on plans.
Times hours(const Times&) { return {.elapsed_ns = INT64_MAX / 2, .spent_ns = 0}; }
// Returns the times of a program that has just begun and has spent N milliseconds on plans.
template <int milliseconds>
Times spent(const Times&) {
    return {.elapsed_ns = 1'000'000, .spent_ns = milliseconds * std::int64_t{1'000'000}};
}

// Returns how many calls of one length run before it gets a plan.
int calls_before_plan(std::int64_t bytes) {
    PlanAdmission admission;
    int calls = 0;
    while (!admission.admits(1, bytes, 0, 0, hours)) ++calls;
    return calls;
}

TEST(PlanAdmission, AdmitsLongRepeatedCallsSooner) {
    EXPECT_EQ(calls_before_plan(std::int64_t{1} << 20), 2);
    EXPECT_LT(calls_before_plan(16 << 10), 14);
    EXPECT_LE(calls_before_plan(8), 32);
    EXPECT_GT(calls_before_plan(8), 10);
}

TEST(PlanAdmission, AdmitsNoneOfManyLengthsInAShortProgram) {
    for (const int lengths : {256, 4096, 65536}) {
        PlanAdmission admission;
        std::mt19937 dice(1);
        int admitted = 0;
        for (int call = 0; call < 12'000; ++call) {
            const auto key = dice() % static_cast<unsigned>(lengths) + 1;
            admitted += admission.admits(key, 8 * key, 0, 0, hours) ? 1 : 0;
        }
        EXPECT_LE(admitted, 12'000 / 100) << lengths;
    }
}

TEST(PlanAdmission, AdmitsManyRepeatedLengths) {
    PlanAdmission admission;
    std::set<int> admitted;
    for (int round = 0; round < 100; ++round)
        for (int key = 1; key <= 200; ++key)
            if (admission.admits(static_cast<std::uint64_t>(key), 1000 * key, 0, 0, hours))
                admitted.insert(key);
    EXPECT_EQ(admitted.size(), 200U);
}

TEST(PlanAdmission, LimitsTheTimeForPlans) {
    PlanAdmission admission;
    for (int call = 0; call < 1000; ++call) EXPECT_FALSE(admission.admits(1, 8, 0, 0, spent<140>));
    int refused = 0;
    while (!admission.admits(1, 8, 0, 0, spent<50>)) ++refused;
    EXPECT_LT(refused, 5000);
    EXPECT_TRUE(admission.admits(1, 8, 0, 0, spent<140>));  // it has a plan
}

TEST(PlanAdmission, AdmitsARepeatedCallAfterManyOthers) {
    PlanAdmission admission;
    for (std::uint64_t key = 1; key <= 10'000; ++key) admission.admits(key, 8, 0, 0, hours);
    int calls = 0;
    while (!admission.admits(1, 8, 0, 0, hours)) ++calls;
    EXPECT_LT(calls, 4 * 32);
    EXPECT_TRUE(admission.admits(1, 8, 0, 0, hours));
}

TEST(PlanAdmission, AdmitsAgainAfterEviction) {
    PlanAdmission admission;
    while (!admission.admits(1, 8, 0, 0, hours)) {
    }
    admission.forget();
    EXPECT_FALSE(admission.admits(1, 8, 0, 0, spent<140>));
}

// Two hundred alternating lengths get plans only within 1 % of the time.
TEST(PlanAdmission, GivesNoCreditToRareCalls) {
    PlanAdmission admission;
    for (int round = 0; round < 200; ++round)
        for (std::uint64_t key = 1; key <= 200; ++key)
            EXPECT_FALSE(admission.admits(key, 8, 0, 0, spent<50>));
}

// The ranks measure different times but decide alike.
TEST(PlanAdmission, DecidesAlikeOnAllRanks) {
    run_as_threads(3, 20, [](World& world) {
        PlanAdmission admission;
        std::mt19937 dice(1);
        std::int64_t spent_ns = 0;
        const auto agree = [&](const Times& mine) {
            Times all = mine;
            for (const Times& one : gather_all(world, mine))
                all = {std::min(all.elapsed_ns, one.elapsed_ns),
                       std::max(all.spent_ns, one.spent_ns)};
            return all;
        };
        for (int call = 0; call < 1000; ++call) {
            const auto key = dice() % 20 * (dice() % 40) + 1;
            const bool is_admitted = admission.admits(key, 500 * key, spent_ns, 0, agree);
            if (is_admitted) spent_ns += 100'000 * (1 + world.rank().index);
            const auto all = gather_all(world, static_cast<int>(is_admitted));
            for (const int other : all) ASSERT_EQ(other, static_cast<int>(is_admitted));
        }
    });
}

}  // namespace
}  // namespace tutti
