// SPDX-License-Identifier: Apache-2.0
// Plans of one planner that run at the same time.
#include <gtest/gtest.h>
#include <sched.h>

#include "checked_plan.hpp"
#include "threads.hpp"

namespace tutti {
namespace {

using test::CheckedPlan;

constexpr std::size_t ranks = 3;

class Progressing : public testing::TestWithParam<std::string_view> {
protected:
    void SetUp() override {
        if (const auto missing = find_transport(GetParam()).missing()) GTEST_SKIP() << *missing;
    }

    static void on_every_rank(const std::function<void(Planner&)>& body) {
        test::run_over(GetParam(), ranks, 20, [&](World& world) {
            Planner planner(world);
            if (!planner.refuses(GetParam())) body(planner);
            world.barrier();
        });
    }

    static CheckedPlan plan(Planner& planner, Collective collective, const char* algorithm,
                            std::int64_t count) {
        return CheckedPlan(planner, GetParam(), find_algorithm(collective, algorithm), count);
    }

    // Different collectives and sizes.
    static std::vector<CheckedPlan> plans(Planner& planner) {
        std::vector<CheckedPlan> all;
        all.push_back(plan(planner, Collective::all_reduce, "ring", 10'000));
        all.push_back(plan(planner, Collective::broadcast, "tree", 1));
        all.push_back(plan(planner, Collective::all_to_all, "linear", 77));
        all.push_back(plan(planner, Collective::all_reduce, "two-shot", 3));
        all.push_back(plan(planner, Collective::reduce_scatter, "butterfly", 500));
        all.push_back(plan(planner, Collective::all_reduce, "double-tree", 5'000));
        return all;
    }
};

TEST_P(Progressing, PlansMayBeWaitedForInAnotherOrderThanStarted) {
    on_every_rank([](Planner& planner) {
        auto all = plans(planner);
        for (int round = 0; round < 20; ++round) {
            for (CheckedPlan& each : all) each.start();
            for (auto last = all.rbegin(); last != all.rend(); ++last) {
                last->wait();
                EXPECT_EQ(last->wrong(), 0) << last->plan().what();
            }
        }
    });
}

// Like gradients that become ready in a different order on each rank.
TEST_P(Progressing, RanksMayStartAndWaitInOrdersOfTheirOwn) {
    on_every_rank([](Planner& planner) {
        auto all = plans(planner);
        const auto me = static_cast<std::size_t>(planner.world().rank().index);
        for (std::size_t round = 0; round < 20; ++round) {
            const auto nth = [&](std::size_t i) -> CheckedPlan& {
                return all[(i + me + round) % all.size()];
            };
            for (std::size_t i = 0; i < all.size(); ++i) nth(i).start();
            for (std::size_t i = 0; i < all.size(); ++i) {
                nth(2 * me + i).wait();
                EXPECT_EQ(nth(2 * me + i).wrong(), 0) << nth(2 * me + i).plan().what();
            }
        }
    });
}

TEST_P(Progressing, PlansMayStartWhileOthersAreHalfDone) {
    on_every_rank([](Planner& planner) {
        auto all = plans(planner);
        for (int round = 0; round < 20; ++round) {
            for (CheckedPlan& each : all) {
                each.start();
                all.front().test();  // advances all running plans
            }
            for (CheckedPlan& each : all) each.wait();
            for (CheckedPlan& each : all) EXPECT_EQ(each.wrong(), 0) << each.plan().what();
        }
    });
}

TEST_P(Progressing, APlanRunsAHundredTimes) {
    on_every_rank([](Planner& planner) {
        CheckedPlan repeated = plan(planner, Collective::all_reduce, "halving-doubling", 100);
        for (int run = 0; run < 100; ++run) {
            repeated.start();
            repeated.wait();
            EXPECT_EQ(repeated.wrong(), 0) << "run " << run;
        }
        EXPECT_EQ(repeated.plan().left_over(), std::nullopt);
    });
}

TEST_P(Progressing, TestingWithoutWaitingEndsAPlan) {
    on_every_rank([](Planner& planner) {
        CheckedPlan tested = plan(planner, Collective::all_gather, "ring", 200);
        for (int run = 0; run < 10; ++run) {
            tested.start();
            while (!tested.test()) sched_yield();
            EXPECT_EQ(tested.wrong(), 0);
            EXPECT_TRUE(tested.test());  // and remains so
        }
    });
}

// Rank 0 waits for rank 2, which is late, and rank 1 waits for rank 0.
TEST(HangReport, SaysIfThePeerHasNotBegunTheCall) {
    run_as_threads(ranks, 20, [](World& world) {
        Planner planner(world);
        CheckedPlan ring(planner, "shm-direct", find_algorithm(Collective::all_reduce, "ring"),
                         300);
        const bool is_late = world.rank() == Rank{2};
        for (int run = 0; run < 3; ++run) {
            if (!is_late) ring.start();
            for (int meeting = 0; meeting < 3; ++meeting) {
                world.barrier();
                if (!is_late) ring.test();  // It goes as far as it can.
            }
            if (!is_late) {
                const std::string report = ring.plan().hang_report();
                EXPECT_EQ(report.find("not begun") != std::string::npos, world.is_first())
                    << report;
            }
            world.barrier();
            if (is_late) ring.start();
            ring.wait();
            EXPECT_EQ(ring.wrong(), 0);
        }
        world.barrier();
    });
}

// Making plans is collective, but no rank waits for one that is not started.
TEST_P(Progressing, PlansThatAreNeverStartedMayGo) {
    on_every_rank([](Planner& planner) {
        CheckedPlan reused = plan(planner, Collective::all_reduce, "ring", 100);
        reused.start();
        {
            CheckedPlan unused = plan(planner, Collective::all_to_all, "bruck", 100);
            EXPECT_TRUE(unused.test());
        }
        reused.wait();
        EXPECT_EQ(reused.wrong(), 0);
        reused.start();
        reused.wait();
        EXPECT_EQ(reused.wrong(), 0);
    });
}

TEST_P(Progressing, PlansUnderWayMayGoToo) {
    on_every_rank([](Planner& planner) {
        CheckedPlan reused = plan(planner, Collective::all_reduce, "ring", 100);
        reused.start();
        {
            CheckedPlan abandoned = plan(planner, Collective::all_to_all, "bruck", 100);
            abandoned.start();
        }
        reused.wait();
        EXPECT_EQ(reused.wrong(), 0);
    });
}

INSTANTIATE_TEST_SUITE_P(Threads, Progressing, testing::ValuesIn(test::transports_of_threads()),
                         test::name_of_transport);

}  // namespace
}  // namespace tutti
