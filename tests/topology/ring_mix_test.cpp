// SPDX-License-Identifier: Apache-2.0
#include "topology/routes/ring_mix.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "base/index.hpp"
#include "tests/topology/random_host.hpp"
#include "tests/topology/ring_bound.hpp"
#include "topology/routes/rings.hpp"
#include "topology/routes/simplex.hpp"

namespace tutti {
namespace {

constexpr std::int64_t enough_work = std::int64_t{1} << 30;

std::optional<RingMix> mix_of(const HostRoutes& routes, PathType worst,
                              std::int64_t work = enough_work) {
    return best_mix(routes, {.limits = {.inside = worst}}, {}, work);
}

// Two rows of 4 and 6; a column takes (1, 1), (2, 1) or (0.5, 3): 4 + 2/5 * ... by hand.
TEST(Simplex, FindsTheMostThatFits) {
    const std::vector<Simplex::Column> columns{
        {{0, 1}, {1, 1}}, {{0, 2}, {1, 1}}, {{0, .5}, {1, 3}}};
    Simplex simplex({4, 6});
    for (int round = 0; round < 10; ++round) {
        const auto prices = simplex.prices();
        const auto cost = [&](const Simplex::Column& column) {
            double sum = 0;
            for (const auto& [row, share] : column) sum += share * at(prices, row);
            return sum;
        };
        const auto cheapest = std::ranges::min_element(columns, {}, cost);
        if (cost(*cheapest) >= 1 - 1e-9) break;
        ASSERT_TRUE(simplex.take(*cheapest, static_cast<int>(cheapest - columns.begin())));
    }
    double sum = 0;
    for (const auto& [column, amount] : simplex.amounts())
        if (column != Simplex::free) sum += amount;
    EXPECT_NEAR(sum, 4.4, 1e-6);  // 3.6 of the first and 0.8 of the third
}

// Each GCD has three links of 36 GB/s, 108 in total. But every ring uses three of these four links,
// so the bound is 4 links * 2 directions * 36 / 3.
TEST(RingMix, OfMi250xIsBoundByFourLinksThatEveryRingPassesThrice) {
    const RingPlan plan = plan_rings(copies_of(machines::mi250x(), 1));
    const HostRoutes& routes = plan.hosts.front();
    const std::vector<std::pair<int, int>> four{{0, 1}, {0, 6}, {1, 5}, {4, 5}};
    HostChannel ring{.members = std::vector<int>(8)};
    std::iota(ring.members.begin(), ring.members.end(), 0);
    int rings = 0;
    do {
        const auto legs = legs_of(routes, ring);
        if (std::ranges::any_of(legs, [](const Leg* leg) { return leg->type > PathType::nvl; }))
            continue;
        ++rings;
        int passed = 0;
        for (std::size_t i = 0; i < ring.members.size(); ++i) {
            const auto ends = std::minmax(ring.members[i], ring.members[(i + 1) % 8]);
            passed += std::ranges::find(four, std::pair<int, int>(ends)) != four.end();
        }
        EXPECT_GE(passed, 3);
    } while (std::next_permutation(ring.members.begin() + 1, ring.members.end()));
    EXPECT_EQ(rings, 10);  // five, each in both directions
    EXPECT_NEAR(mix_of(routes, PathType::nvl)->bound_GBps, 4 * 2 * 36. / 3, 1e-4);
    EXPECT_NEAR(plan.found.bandwidth_GBps, 96, 1e-9);
}

TEST(RingMix, IsTheMostOfAllRings) {
    for (unsigned seed = 0; seed < 30; ++seed) {
        const HostRoutes routes(machines::random_host(3 + static_cast<int>(seed % 4), seed));
        for (const PathType worst : {PathType::nvl, PathType::sys}) {
            const auto mix = mix_of(routes, worst);
            ASSERT_TRUE(mix);
            const double bound = bound_of_rings(routes, worst);  // a little too high
            EXPECT_LE(mix->bound_GBps, bound * (1 + 1e-6)) << seed;
            EXPECT_GE(mix->bound_GBps, bound * 0.9) << seed;
            // The shares reach the bound and overload no edge.
            double sum = 0;
            std::vector<double> load(routes.graph().edges.size());
            for (const auto& [ring, bandwidth_GBps] : mix->shares) {
                sum += bandwidth_GBps;
                const std::vector<double> of_ring = load_of(routes, {ring});
                for (std::size_t e = 0; e < load.size(); ++e)
                    load[e] += bandwidth_GBps * of_ring[e];
            }
            EXPECT_NEAR(sum, mix->bound_GBps, 1e-5 * bound) << seed;
            for (std::size_t e = 0; e < load.size(); ++e)
                EXPECT_LE(load[e], routes.capacity(static_cast<int>(e)) * (1 + 1e-5)) << seed;
        }
    }
}

// For these hosts the rates of links, whole or divided, reached only 93 to 97 % of the bound.
TEST(RingMix, IsReachedByChannelsOfOneRate) {
    for (const unsigned seed : {68u, 114u, 73u, 142u, 116u, 67u}) {
        const RingPlan plan =
            plan_rings(copies_of(machines::random_host(3 + static_cast<int>(seed % 5), seed), 1));
        const auto mix = mix_of(plan.hosts.front(), plan.found.inside);
        ASSERT_TRUE(mix);
        EXPECT_GE(plan.found.bandwidth_GBps, 0.99 * mix->bound_GBps) << seed;
        EXPECT_LE(plan.found.bandwidth_GBps, mix->bound_GBps * (1 + 1e-5)) << seed;
        EXPECT_LE(plan.found.channels.size(), as_size(most_rings)) << seed;
    }
}

TEST(RingMix, UsesTheCapacityThatChannelsLeave) {
    const HostRoutes routes(machines::mi250x());
    PackingTask task{.bandwidth_GBps = 12, .limits = {.inside = PathType::nvl}};
    std::int64_t work = enough_work;
    const auto all = best_mix(routes, task, {}, work);
    const std::vector<HostChannel> laid{all->shares.front().ring};
    EXPECT_NEAR(best_mix(routes, task, laid, work)->bound_GBps, all->bound_GBps - 12, 1e-4);
    EXPECT_EQ(in_channels(routes, task, *all, 8, work).size(), 8u);
    EXPECT_LT(in_channels(routes, task, *all, 9, work).size(), 9u);
}

TEST(RingMix, IsNotComputedIfItWouldTakeLong) {
    EXPECT_FALSE(mix_of(HostRoutes(machines::plain_gpus(11)), PathType::sys));
    EXPECT_FALSE(mix_of(HostRoutes(machines::plain_gpus(2)), PathType::sys));
    EXPECT_FALSE(mix_of(HostRoutes(machines::mi250x()), PathType::nvl, 10000));
    EXPECT_TRUE(mix_of(HostRoutes(machines::plain_gpus(10)), PathType::sys));
}

TEST(RingMix, IsEmptyWhereNoRingIsClosed) {
    const auto mix = mix_of(HostRoutes(machines::two_xgmi_islands()), PathType::nvl);
    ASSERT_TRUE(mix);
    EXPECT_EQ(mix->bound_GBps, 0);
    EXPECT_TRUE(mix->shares.empty());
}

}  // namespace
}  // namespace tutti
