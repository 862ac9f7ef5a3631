// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>

#include "../collectives/checked_plan.hpp"
#include "workloads/timing/timeline.hpp"

namespace tutti {
namespace {

constexpr std::int64_t ms = 1'000'000;

// Reports that its steps end at these times after the call's begin.
class SaysItsSteps final : public Operation {
public:
    explicit SaysItsSteps(std::vector<StepEnd> after_begin)
        : after_begin_(std::move(after_begin)) {}
    void run() override {
        if (ends_ == nullptr) return;
        const std::int64_t begin = now_ns();
        for (const StepEnd& end : after_begin_) ends_->push_back({end.step, begin + end.ns});
    }
    void note_step_ends(std::vector<StepEnd>* ends) override { ends_ = ends; }
    bool is_noted() const { return ends_ != nullptr; }

private:
    std::vector<StepEnd> after_begin_;
    std::vector<StepEnd>* ends_ = nullptr;
};

TEST(StepEnds, AreThoseOfTheLastRank) {
    run_as_threads(2, 20, [](World& world) {
        // Rank 0 has no part in step 1, rank 1 none in step 2.
        SaysItsSteps operation(world.is_first()
                                   ? std::vector<StepEnd>{{0, 200 * ms}, {2, 1800 * ms}}
                                   : std::vector<StepEnd>{{0, 400 * ms}, {1, 1000 * ms}});
        const auto ends = step_ends_of(world, operation, {.timed = 5}, {});
        ASSERT_EQ(ends.size(), 4U);
        const std::int64_t expected[] = {400 * ms, 1000 * ms, 1800 * ms, 1800 * ms};
        for (std::size_t i = 0; i < ends.size(); ++i) {
            EXPECT_GE(ends[i], expected[i]);
            EXPECT_LT(ends[i], expected[i] + 150 * ms);  // from the stamp to the operation's own
        }
        EXPECT_FALSE(operation.is_noted());
    });
}

// Lanes and channels end a step several times.
TEST(StepEnds, ALaterPartOfAStepCounts) {
    run_as_threads(1, 20, [](World& world) {
        SaysItsSteps operation({{0, 100 * ms}, {1, 500 * ms}, {0, 900 * ms}});
        const auto ends = step_ends_of(world, operation, {.timed = 3}, {});
        ASSERT_EQ(ends.size(), 3U);
        EXPECT_GE(ends[0], 900 * ms);
        EXPECT_GE(ends[1], ends[0]);
    });
}

TEST(StepEnds, OfACallWithoutStepsAreItsEnd) {
    run_as_threads(2, 20, [](World& world) {
        SaysItsSteps operation({});
        int before = 0;
        EXPECT_EQ(step_ends_of(world, operation, {.timed = 4}, [&] { ++before; }).size(), 1U);
        EXPECT_GE(before, 4);
    });
}

// Each step of the schedule is seen, once in each call, and in order.
TEST(StepEnds, OfAPlanAreThoseOfItsSchedule) {
    for (const char* transport : {"shm", "loopback"})
        run_as_threads(3, 20, [&](World& world) {
            Planner planner(world);
            const Algorithm& ring = find_algorithm(Collective::all_reduce, "ring");
            test::CheckedPlan plan(planner, transport, ring, 1000);
            const auto ends = step_ends_of(world, plan.plan(), {.timed = 3}, {});
            EXPECT_EQ(ends.size(), 5U) << transport;  // 4 steps and the call
            EXPECT_TRUE(std::ranges::is_sorted(ends)) << transport;
            EXPECT_GT(ends[0], 0) << transport;
        });
}

}  // namespace
}  // namespace tutti
