// SPDX-License-Identifier: Apache-2.0
// Waits end at their deadline: not before it, and not long after.
// A busy machine may delay one of them, but not all of several.
#include <gtest/gtest.h>

#include <atomic>
#include <limits>

#include "base/clock.hpp"
#include "checked_plan.hpp"
#include "collectives/world/backoff.hpp"

namespace tutti {
namespace {

constexpr double timeout = 0.1;

// Repeats a wait and takes the shortest; stops at the first one that is short enough. More than 1.4
// times the deadline is too long.
void expect_deadline(double seconds, const std::function<double()>& wait) {
    double shortest = 1e9;
    for (int attempt = 0; attempt < 10 && shortest > 1.4 * seconds; ++attempt) {
        const double took = wait();
        EXPECT_GE(took, seconds * 0.999);
        shortest = std::min(shortest, took);
    }
    EXPECT_LE(shortest, 1.4 * seconds);
}

double seconds_of(const std::function<void()>& work) {
    const std::int64_t began = now_ns();
    work();
    return static_cast<double>(now_ns() - began) * 1e-9;
}

TEST(Deadline, OfAWaitIsTheHangTimeoutAndOfAMeetingTwice) {
    const auto world = world_of_one();
    world->hang_timeout = timeout;
    for (const double times : {1.0, barrier_timeout_factor})
        expect_deadline(times * timeout, [&] {
            return seconds_of([&] {
                Backoff backoff(*world, times);
                while (backoff.pause()) {
                }
            });
        });
    EXPECT_EQ(barrier_timeout_factor, 2);
}

TEST(Deadline, OfAGreatNumberOrNoneIsFarOff) {
    const auto world = world_of_one();
    for (const double seconds : {1e9, 8.64e13, 1e300, std::numeric_limits<double>::infinity()}) {
        world->hang_timeout = seconds;
        Backoff backoff(*world, barrier_timeout_factor);
        int looks = 0;
        while (looks < 5000 && backoff.pause()) ++looks;
        EXPECT_EQ(looks, 5000) << seconds;
    }
}

TEST(Deadline, RestartsWhenDataArrives) {
    const auto world = world_of_one();
    world->hang_timeout = timeout;
    expect_deadline(timeout, [&] {
        Backoff backoff(*world);
        while (backoff.pause()) {
        }
        backoff.renew();
        return seconds_of([&] {
            while (backoff.pause()) {
            }
        });
    });
}

TEST(Deadline, OfABarrierIsTwiceTheHangTimeout) {
    expect_deadline(2 * timeout, [] {
        double took = 0;
        run_as_threads(2, timeout, [&](World& world) {
            if (!world.is_first()) return;  // never comes
            took = seconds_of([&] { EXPECT_THROW(world.barrier(), Error); });
        });
        return took;
    });
}

class NeverDone final : public Operation {
public:
    void run() override {}
    bool test() override { return false; }
};

TEST(Deadline, OfALibrarysCallIsTheHangTimeout) {
    const auto world = world_of_one();
    world->hang_timeout = timeout;
    NeverDone operation;
    expect_deadline(timeout, [&] {
        return seconds_of([&] { EXPECT_FALSE(ends_in_time(*world, operation)); });
    });
}

// The message never arrives.
TEST(Deadline, OfAPlanIsTheHangTimeout) {
    expect_deadline(timeout, [] {
        std::atomic<double> took = 0;
        try {
            run_as_threads(2, 20, [&](World& world) {
                Planner planner(world, parse_fault("drop"));
                test::CheckedPlan plan(planner, "loopback",
                                       find_algorithm(Collective::broadcast, "linear"), 60);
                world.barrier();
                world.hang_timeout = timeout;
                if (world.rank().index != 1) return;
                plan.start();
                took = seconds_of([&] { EXPECT_THROW(plan.wait(), Error); });
            });
        } catch (const Error&) {  // the other rank's message is left over
        }
        return took.load();
    });
}

}  // namespace
}  // namespace tutti
