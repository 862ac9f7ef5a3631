// SPDX-License-Identifier: Apache-2.0
#include "collectives/world/host_processes.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cstdlib>
#include <map>
#include <string>

#include "base/index.hpp"
#include "collectives/transport/messages/mpi.hpp"
#include "topology/detect/host_facts.hpp"
#include "workloads/timing/pinning.hpp"

namespace tutti {
namespace {

// A host of two cores that share a NUMA node, but neither cache nor package.
Host host_of_two_caches(int first_cpu, int second_cpu) {
    Host host;
    host.cores = {{{first_cpu}}, {{second_cpu}}};
    host.packages = {{"", {0}}, {"", {1}}};
    host.numa_nodes = {{.os_index = 0, .memory = {}, .cores = {0, 1}}};
    host.caches = {
        {.level = 2, .cores = {0, 1}}, {.level = 3, .cores = {0}}, {.level = 3, .cores = {1}}};
    return host;
}

const Grouping* find_groups(const Placement& placement, Level level) {
    for (const PlacementLevel& known : placement.levels())
        if (known.level == level) return &known.groups;
    return nullptr;
}

TEST(RanksOnHosts, AreInTheCachesToWhichTheyAreBound) {
    const std::vector<int> cpus = usable_cpus();
    if (cpus.size() < 2) GTEST_SKIP() << "needs 2 CPUs";
    const Host host = host_of_two_caches(cpus[0], cpus[1]);
    run_as_threads(4, 30, [&](World& world) {
        const FormerCpus before;
        run_on(cpus[as_size(world.rank().index % 2)]);
        const Placement placement = ranks_on_hosts(world, "host", host).hosts;
        before.restore();
        const Grouping by_core{{{0}, {2}}, {{1}, {3}}}, all{{{0}, {1}, {2}, {3}}};
        ASSERT_EQ(placement.levels().size(), 4u);
        EXPECT_EQ(*find_groups(placement, Level::cache), by_core);
        EXPECT_EQ(*find_groups(placement, Level::numa), by_core);  // groups lie in one package
        EXPECT_EQ(*find_groups(placement, Level::package), by_core);
        EXPECT_EQ(placement.nodes(), all);
    });
}

TEST(RanksOnHosts, KnowOnlyLevelsThatContainTheirCpus) {
    const std::vector<int> cpus = usable_cpus();
    if (cpus.size() < 2) GTEST_SKIP() << "needs 2 CPUs";
    const Host host = host_of_two_caches(cpus[0], cpus[1]);
    run_as_threads(2, 30, [&](World& world) {
        const FormerCpus before;
        cpu_set_t two;
        CPU_ZERO(&two);
        CPU_SET(as_size(cpus[0]), &two);
        CPU_SET(as_size(cpus[1]), &two);
        sched_setaffinity(0, sizeof two, &two);
        const Placement placement = ranks_on_hosts(world, "host", host).hosts;
        before.restore();
        EXPECT_EQ(find_groups(placement, Level::cache), nullptr);
        EXPECT_EQ(find_groups(placement, Level::package), nullptr);
        EXPECT_NE(find_groups(placement, Level::numa), nullptr);
        EXPECT_EQ(placement.nodes().size(), 1u);
    });
}

TEST(RanksOnHosts, AreInHostsByName) {
    run_as_threads(4, 30, [&](World& world) {
        const bool is_first = world.rank().index < 3;
        const Placement placement =
            ranks_on_hosts(world, is_first ? "first" : "second", Host{}).hosts;
        const Grouping uneven{{{0}, {1}, {2}}, {{3}}};
        EXPECT_EQ(placement.nodes(), uneven);
        EXPECT_EQ(placement.levels().size(), 1u);
    });
}

// Each host may have links that lead nowhere else.
TEST(RanksOnHosts, CountLinksToNetworksOfAllRanks) {
    const auto card = [](const char* name, const char* network) {
        return NetworkDevice{name, network, {}, 25'000};
    };
    const auto links = [&](const std::vector<NetworkDevice>& of_first,
                           const std::vector<NetworkDevice>& of_others) {
        std::array<int, 3> of_ranks = {};
        run_as_threads(3, 30, [&](World& world) {
            at(of_ranks, world.rank()) =
                ranks_on_hosts(world, "host", Host{}, world.is_first() ? of_first : of_others)
                    .links;
        });
        EXPECT_EQ(of_ranks, (std::array{of_ranks[0], of_ranks[0], of_ranks[0]}));
        return of_ranks[0];
    };
    const auto a = card("eth0", "10.0.0.0/24"), b = card("eth1", "10.1.0.0/24"),
               c = card("eth2", "10.2.0.0/24"), b_elsewhere = card("eth0", "10.1.0.0/24");
    EXPECT_EQ(links({a, b}, {a, b}), 2);
    EXPECT_EQ(links({a, b, c}, {c, b_elsewhere}), 2);
    EXPECT_EQ(links({a, b}, {a, c}), 1);
    EXPECT_EQ(links({a}, {b}), 1);
    EXPECT_EQ(links({a, b}, {}), 1);
}

// Open MPI may use only one of them then.
TEST(CardsUsedByMpi, AreNoneIfTheUserChoosesThem) {
    std::map<std::string, std::string> of_caller;
    const std::array settings{"OMPI_MCA_btl_tcp_if_include",
                              "OMPI_MCA_btl_tcp_if_exclude",
                              "OMPI_MCA_btl_tcp_eager_limit",
                              "OMPI_MCA_btl_tcp_links",
                              "OMPI_MCA_btl",
                              "OMPI_MCA_pml"};
    for (const char* const name : settings) {
        if (const char* const value = std::getenv(name)) of_caller[name] = value;
        unsetenv(name);
    }
    const std::size_t cards = cards_used_by_mpi().size();
    for (const char* const name : settings) {
        setenv(name, "eth0", 1);
        EXPECT_TRUE(cards_used_by_mpi().empty()) << name;
        unsetenv(name);
    }
    for (const auto& [name, value] : of_caller) setenv(name.c_str(), value.c_str(), 1);
    if (cards == 0) GTEST_SKIP() << "needs Open MPI and a network";
    EXPECT_EQ(cards, cards_of_this_host().size());
}

}  // namespace
}  // namespace tutti
