// SPDX-License-Identifier: Apache-2.0
// Stamps of clocks that differ by what is known, over paths whose times are known.
// Threads act as hosts, each with its own clock.
#include "workloads/timing/clock_model.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <random>
#include <vector>

#include "base/index.hpp"
#include "workloads/timing/batch.hpp"
#include "workloads/timing/global_clock.hpp"
#include "workloads/timing/measure.hpp"

namespace tutti {
namespace {

constexpr std::int64_t second = 1'000'000'000;
constexpr std::int64_t days =
    40 * 86'400 * second;  // more than a double resolves to the nanosecond

struct Clocks {
    std::int64_t offset = 0;  // other less own at own time 0
    double drift = 0;         // relative speed of the other clock minus 1

    std::int64_t other(std::int64_t own) const {
        return own + offset + static_cast<std::int64_t>(drift * static_cast<double>(own));
    }
};

Ping ping(const Clocks& clocks, std::int64_t at, std::int64_t there, std::int64_t back) {
    return {at, clocks.other(at + there), at + there + back};
}

// Returns pings that take `path` and up to `jitter` more in each direction.
ClockOffset estimate(const Clocks& clocks, std::int64_t at, int pings, std::int64_t path,
                     std::int64_t jitter, std::mt19937& random) {
    std::uniform_int_distribution<std::int64_t> more(0, jitter);
    std::vector<Ping> all;
    for (int i = 0; i < pings; ++i) {
        all.push_back(ping(clocks, at, path + more(random), path + more(random)));
        at = all.back().back;
    }
    return estimate_offset(all);
}

}  // namespace

TEST(ClockOffset, OfEqualDelaysIsTheOffset) {
    const Clocks clocks{.offset = days};
    const std::vector<Ping> one{ping(clocks, 1000, 500, 500)};
    EXPECT_EQ(estimate_offset(one),
              (ClockOffset{.at_ns = 1500, .offset_ns = days, .bound_ns = 500}));
}

TEST(ClockOffset, OfUnequalDelaysIsWrongByHalfTheDifferenceAndSaysHowMuchAtMost) {
    const Clocks clocks{.offset = -days};
    const std::vector<Ping> one{ping(clocks, 0, 900, 100)};
    EXPECT_EQ(estimate_offset(one).offset_ns, -days + 400);
    EXPECT_EQ(estimate_offset(one).bound_ns, 500);
}

TEST(ClockOffset, IsOfTheTimeOfThePingsThatCount) {
    const Clocks clocks{.offset = 77, .drift = 0};
    const std::vector<Ping> three{ping(clocks, 0, 500, 500), ping(clocks, 100'000, 900, 900),
                                  ping(clocks, 900'000, 900, 900)};
    EXPECT_EQ(estimate_offset(three).at_ns, 500);
    const std::vector<Ping> two{ping(clocks, 0, 500, 900), ping(clocks, 10'000, 900, 500)};
    EXPECT_EQ(estimate_offset(two).at_ns, 5'700);
}

// Each direction's quickest ping counts, be it another one's.
TEST(ClockOffset, IgnoresPingsThatWereDelayed) {
    const Clocks clocks{.offset = 123'456'789};
    const std::vector<Ping> three{ping(clocks, 0, 500, 90'000), ping(clocks, 200'000, 70'000, 500),
                                  ping(clocks, 400'000, 80'000, 80'000)};
    EXPECT_EQ(estimate_offset(three).offset_ns, 123'456'789);
    EXPECT_EQ(estimate_offset(three).bound_ns, 500);
}

TEST(ClockModel, ForetellsAClockThatDrifts) {
    std::mt19937 random(1);
    for (const double ppm : {-80.0, 0.0, 0.3, 80.0}) {
        const Clocks clocks{.offset = days, .drift = ppm * 1e-6};
        ClockModel model;
        for (int i = 0; i < 8; ++i)
            model.learn(estimate(clocks, i * second / 4, 100, 50'000, 20'000, random));
        EXPECT_NEAR(model.drift() * 1e6, ppm, 1);
        for (const std::int64_t later : {2 * second, 3 * second})
            EXPECT_LT(std::abs(model.other(later) - clocks.other(later)), 3'000) << ppm;
    }
}

// Between estimates the clocks drift apart by more than the bound of an estimate.
TEST(ClockModel, LearnsDriftFromEstimatesThatAreSharperThanIt) {
    std::mt19937 random(1);
    const Clocks clocks{.offset = -days, .drift = 50e-6};
    ClockModel model;
    for (int i = 0; i < 4; ++i) model.learn(estimate(clocks, i * second / 10, 20, 500, 0, random));
    EXPECT_NEAR(model.drift() * 1e6, 50, 0.1);
}

TEST(ClockModel, IgnoresAnEstimateThatWasDisturbed) {
    std::mt19937 random(1);
    const Clocks clocks{.offset = 5};
    ClockModel model;
    for (int i = 0; i < 5; ++i) {
        const bool is_disturbed = i == 3;  // all answers are late by 3 ms
        std::vector<Ping> pings(20);
        for (int k = 0; k < 20; ++k)
            at(pings, k) = ping(clocks, i * second / 10 + k * 20'000, 10'000,
                                is_disturbed ? 3'000'000 : 10'000);
        model.learn(estimate_offset(pings));
    }
    EXPECT_EQ(model.other(second), second + 5);
    EXPECT_EQ(model.drift(), 0);
}

TEST(ClockModel, RestartsWhenAClockWasSet) {
    std::mt19937 random(1);
    ClockModel model;
    for (int i = 0; i < 4; ++i)
        model.learn(estimate({.offset = 0}, i * second, 50, 1000, 0, random));
    model.learn(estimate({.offset = second}, 4 * second, 50, 1000, 0, random));
    EXPECT_EQ(model.offset(4 * second), second);
    EXPECT_EQ(model.drift(), 0);
}

TEST(ClockModel, TurnsBack) {
    ClockModel model;
    model.set_line({.at_ns = 100 * second, .offset_ns = -days, .drift = 1e-4});
    for (std::int64_t mine : {100 * second, 101 * second, 110 * second + 12'345})
        EXPECT_LE(std::abs(model.mine(model.other(mine)) - mine), 1);
}

TEST(ClockModel, IsTrustedForHalfTheTimeThatItHasSeen) {
    ClockModel model;
    EXPECT_EQ(model.trusted_ns(), 0);
    const auto learn = [&](std::int64_t at) { model.learn({at, 0, 100}); };
    learn(0);
    EXPECT_EQ(model.trusted_ns(), second / 10);
    learn(second);
    EXPECT_EQ(model.trusted_ns(), second / 2);
    learn(9 * second);
    EXPECT_EQ(model.trusted_ns(), second);
}

namespace {

constexpr std::int64_t one_second = 1'000'000'000;

std::int64_t shift_of(int host) { return host * host * 1000 * one_second; }

// Five hosts of one, two of three ranks: the tree has more than one level, and followers.
void on_hosts(const std::function<void(World&, const Placement&, int host)>& body) {
    for (const int per_host : {1, 3})
        run_as_threads(per_host == 1 ? 5 : 6, 60, [&](World& world) {
            const Placement hosts = Placement::in_nodes_of(world.size(), per_host);
            body(world, hosts, world.rank().index / per_host);
        });
}

}  // namespace

// How near depends on how busy the machine is; that it is no further than it says does not.
TEST(GlobalClock, IsTheFirstHostsOnAllRanks) {
    on_hosts([](World& world, const Placement& hosts, int host) {
        GlobalClock clock(world, hosts, [=] { return now_ns() + shift_of(host); });
        ClockSync record;
        std::int64_t reach = 0;
        for (int round = 0; round < 3; ++round) {
            record = clock.record();
            reach = record.reach_ns + record.residual_ns;
            const std::int64_t now = now_ns();
            EXPECT_LE(std::abs(clock.from_local(now + shift_of(host)) - now), reach);
            EXPECT_LE(std::abs(clock.to_local(now) - now - shift_of(host)), reach);
            clock.refresh();
        }
        ASSERT_EQ(record.offset_ns.size(), hosts.nodes().size());
        for (std::size_t i = 0; i < record.offset_ns.size(); ++i)
            EXPECT_LE(std::abs(record.offset_ns[i] - shift_of(static_cast<int>(i))), reach);
        EXPECT_EQ(record.offset_ns[0], 0);
        EXPECT_EQ(record.drift_ppm.size(), record.offset_ns.size());
    });
}

TEST(GlobalClock, OfOneHostIsItsOwnAndCostsNothing) {
    run_as_threads(2, 60, [](World& world) {
        GlobalClock clock(world);
        clock.refresh();
        EXPECT_EQ(clock.from_local(12345), 12345);
        EXPECT_EQ(clock.to_local(12345), 12345);
        EXPECT_TRUE(clock.record().mode.empty());
    });
}

}  // namespace tutti
