// SPDX-License-Identifier: Apache-2.0
#include "topology/routes/trees.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "base/index.hpp"
#include "tests/topology/machines.hpp"

namespace tutti {
namespace {

using Parents = std::vector<std::optional<int>>;

int children(const Parents& parent, std::optional<int> host) {
    return static_cast<int>(std::ranges::count(parent, host));
}

int depth(const Parents& parent, int host) {
    int steps = 0;
    for (auto up = at(parent, host); up; ++steps) up = at(parent, *up);
    return steps;
}

TEST(BinaryTree, ReachesEveryHostInLogarithmicallyManySteps) {
    for (int hosts = 1; hosts <= 70; ++hosts)
        for (const Parents& parent : {binary_tree(hosts), other_binary_tree(hosts)}) {
            EXPECT_EQ(children(parent, {}), 1);
            int log = 0;
            while ((1 << log) < hosts) ++log;
            for (int host = 0; host < hosts; ++host) {
                EXPECT_LE(children(parent, host), 2);
                EXPECT_LE(depth(parent, host), log);
            }
        }
}

TEST(BinaryTree, HasTheOthersLeavesAsInnerHosts) {
    for (int hosts = 2; hosts <= 70; ++hosts) {
        const Parents one = binary_tree(hosts);
        const Parents other = other_binary_tree(hosts);
        for (int host = 0; host < hosts; ++host)  // in both trees together: two routes up and down
            EXPECT_LE(children(one, host) + children(other, host), 3) << hosts << ' ' << host;
    }
}

TEST(Trees, HaveChainsOfTheFewestHops) {
    for (const Host& host : {machines::dgx1(), machines::mi250x()}) {
        const TreePlan plan = plan_trees({HostRoutes(host)});
        ASSERT_EQ(plan.trees.size(), 1u);
        EXPECT_EQ(plan.trees.front().hops, 7);  // one link from each of eight to the next
        EXPECT_EQ(std::set(plan.trees.front().chains.front().begin(),
                           plan.trees.front().chains.front().end())
                      .size(),
                  8u);
    }
    // Both directions of the narrowest NVLink on the way, used once each.
    EXPECT_GE(plan_trees({HostRoutes(machines::dgx1())}).bandwidth_GBps, 20);
}

TEST(Trees, EnterTheHostsByDifferentNics) {
    const std::vector<HostRoutes> hosts(4, HostRoutes(machines::dgx1()));
    const TreePlan plan = plan_trees(hosts);
    ASSERT_EQ(plan.trees.size(), 2u);
    EXPECT_NE(plan.trees[0].port[0], plan.trees[1].port[0]);
    // In either tree a host with a parent and two children takes each share in three times and
    // sends it out three times, over the PCIe link of its first GPU: 12 GB/s, of which a V100 loses
    // an eighth of what it receives from a NIC.
    EXPECT_DOUBLE_EQ(plan.bandwidth_GBps, 2 * 12.0 / (3 + 3 / 8.0));
}

TEST(Trees, AreNoFasterThanTheMeasuredNetwork) {
    const std::vector<HostRoutes> hosts(2, HostRoutes(machines::dgx1()));
    const double alone = plan_trees(hosts).bandwidth_GBps;
    EXPECT_DOUBLE_EQ(plan_trees(hosts, {{0, 1, 0, 2}}).bandwidth_GBps, alone);  // speed unknown
    // Both trees go up and down between the two: each direction is used twice for half of the
    // message.
    const TreePlan plan = plan_trees(hosts, {{0, 1, 4, 2}, {1, 0, 3, 2}});
    EXPECT_DOUBLE_EQ(plan.bandwidth_GBps, 3);
    EXPECT_EQ(plan.limit, "network from host 1 to host 0");
}

TEST(Trees, OfOneMemberCarryNothing) {
    const TreePlan plan = plan_trees({HostRoutes(machines::plain_gpus(1))});
    EXPECT_EQ(plan.bandwidth_GBps, 0);
    EXPECT_EQ(plan.limit, "");
}

}  // namespace
}  // namespace tutti
