// SPDX-License-Identifier: Apache-2.0
#include "library/plan_admission.hpp"

#include <gtest/gtest.h>

#include <random>
#include <set>

namespace tutti {
namespace {

constexpr std::int64_t second_ns = 1'000'000'000;

// How many of the first calls of one length come before it has a plan.
int calls_before_plan(std::int64_t bytes) {
    PlanAdmission admission(0);
    int calls = 0;
    while (!admission.admits(nullptr, 1, bytes, 0)) ++calls;
    return calls;
}

TEST(PlanAdmission, AdmitsACallThatIsRepeatedSoonerTheLongerItTakes) {
    EXPECT_EQ(calls_before_plan(std::int64_t{1} << 20), 1);
    EXPECT_LT(calls_before_plan(16 << 10), 14);
    EXPECT_LE(calls_before_plan(8), 32);
    EXPECT_GT(calls_before_plan(8), 20);
}

TEST(PlanAdmission, AdmitsTheFirstCallsAtOnce) {
    PlanAdmission admission(2);
    EXPECT_TRUE(admission.admits(nullptr, 1, 8, 0));
    EXPECT_TRUE(admission.admits(nullptr, 2, 8, 0));
    EXPECT_FALSE(admission.admits(nullptr, 3, 8, 0));
    EXPECT_TRUE(admission.admits(nullptr, 1, 8, 0));
}

TEST(PlanAdmission, AdmitsNoneOfManyLengthsInAShortProgram) {
    for (const int lengths : {256, 4096, 65536}) {
        PlanAdmission admission(0);
        std::mt19937 dice(1);
        int admitted = 0;
        for (int call = 0; call < 12'000; ++call) {
            const auto key = dice() % static_cast<unsigned>(lengths) + 1;
            admitted += admission.admits(nullptr, key, 8 * key, 0) ? 1 : 0;
        }
        EXPECT_LE(admitted, 12'000 / 100) << lengths;
    }
}

TEST(PlanAdmission, AdmitsManyLengthsThatComeAgainAndAgain) {
    PlanAdmission admission(0);
    std::set<int> admitted;
    for (int round = 0; round < 100; ++round)
        for (int key = 1; key <= 200; ++key)
            if (admission.admits(nullptr, static_cast<std::uint64_t>(key), 1000 * key, 0))
                admitted.insert(key);
    EXPECT_EQ(admitted.size(), 200U);
}

TEST(PlanAdmission, AdmitsNoMoreThanPlansMayTakeOfTheTime) {
    const auto world = world_of_one();
    PlanAdmission admission(0);
    for (int call = 0; call < 100; ++call)
        EXPECT_FALSE(admission.admits(world.get(), 1, 8, second_ns));
    for (int call = 0; call < 1000; ++call) admission.admits(world.get(), 1, 8, 0);
    EXPECT_TRUE(admission.admits(world.get(), 1, 8, second_ns));  // it has one
}

// Ranks measure different times, and decide alike.
TEST(PlanAdmission, DecidesAlikeOnAllRanks) {
    run_as_threads(3, 20, [](World& world) {
        PlanAdmission admission(4);
        std::mt19937 dice(1);
        std::int64_t spent = 0;
        for (int call = 0; call < 1000; ++call) {
            const auto key = dice() % 20 * (dice() % 40) + 1;
            const bool is_admitted = admission.admits(&world, key, 500 * key, spent);
            if (is_admitted) spent += 10'000 * (1 + world.rank().index);
            const auto all = gather_all(world, static_cast<int>(is_admitted));
            for (const int other : all) ASSERT_EQ(other, static_cast<int>(is_admitted));
        }
    });
}

}  // namespace
}  // namespace tutti
