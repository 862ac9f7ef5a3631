// SPDX-License-Identifier: Apache-2.0
#include "topology/routes/rings.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>

#include "base/error.hpp"
#include "base/index.hpp"
#include "tests/topology/machines.hpp"
#include "tests/topology/random_host.hpp"
#include "tests/topology/ring_bound.hpp"

namespace tutti {
namespace {

RingPlan rings_of(const Host& host, int hosts = 1) { return plan_rings(copies_of(host, hosts)); }

// Counts how often the channels use each edge, without the rules of thumb of ring_load.cpp, which
// only add load.
std::vector<double> plain_load(const HostRoutes& routes, const std::vector<HostChannel>& channels) {
    const HostGraph& graph = routes.graph();
    const PathTable paths = paths_of(graph);
    const auto& members = graph.gpus.empty() ? graph.cpus : graph.gpus;
    const auto node_of_port = [&](int stop) {
        return *std::ranges::find(graph.ports, routes.name(stop),
                                  [&](int port) { return at(graph.nodes, port).name; });
    };
    std::vector<double> load(graph.edges.size());
    for (const HostChannel& channel : channels) {
        std::vector<int> nodes;
        if (channel.port_in) nodes.push_back(node_of_port(*channel.port_in));
        for (const int member : channel.members) nodes.push_back(at(members, member));
        nodes.push_back(channel.port_out ? node_of_port(*channel.port_out) : nodes.front());
        for (std::size_t i = 0; i + 1 < nodes.size(); ++i)
            for (const int edge : at(paths, nodes[i])[static_cast<std::size_t>(nodes[i + 1])].edges)
                ++at(load, edge);
    }
    return load;
}

// Checks that every channel visits every member once, no edge is overloaded, and the total is
// right.
void expect_sound(const RingPlan& plan, const RingSet& rings) {
    for (std::size_t h = 0; h < plan.hosts.size(); ++h) {
        std::vector<HostChannel> here;
        for (const RingChannel& channel : rings.channels) here.push_back(channel[h]);
        for (const HostChannel& channel : here) {
            std::vector<int> members = channel.members;
            std::ranges::sort(members);
            for (int m = 0; m < plan.hosts[h].members(); ++m)
                ASSERT_EQ(members.at(static_cast<std::size_t>(m)), m);
        }
        const std::vector<double> load = plain_load(plan.hosts[h], here);
        for (std::size_t e = 0; e < load.size(); ++e)
            EXPECT_LE(load[e] * rings.bandwidth_GBps_per_channel,
                      plan.hosts[h].capacity(static_cast<int>(e)) * (1 + 1e-9));
    }
    EXPECT_NEAR(rings.bandwidth_GBps,
                rings.bandwidth_GBps_per_channel * static_cast<double>(rings.channels.size()),
                1e-9);
}

void expect_found(const RingPlan& plan, double bandwidth_GBps, PathType inside) {
    expect_sound(plan, plan.found);
    expect_sound(plan, plan.naive);
    EXPECT_NEAR(plan.found.bandwidth_GBps, bandwidth_GBps, 1e-9 * bandwidth_GBps);
    EXPECT_EQ(plan.found.inside, inside);
    EXPECT_GE(plan.found.bandwidth_GBps, plan.naive.bandwidth_GBps);
}

TEST(Rings, OfADgx1UseEveryNvlinkInBothDirections) {
    const RingPlan plan = rings_of(machines::dgx1());
    expect_found(plan, 120, PathType::nvl);  // six links of 20 leave each GPU
    EXPECT_EQ(plan.found.channels.size(), 6u);
    EXPECT_DOUBLE_EQ(plan.found.hops, 8);
    EXPECT_EQ(plan.found.kinds, std::set{EdgeKind::nvlink});
    // GPU3 and GPU4, and GPU7 and GPU0, are not neighbours: two hops each, over links already in
    // use.
    EXPECT_EQ(plan.naive.inside, PathType::nvb);
    EXPECT_NEAR(plan.naive.bandwidth_GBps, 40, 1e-9);
}

TEST(Rings, ThroughAnNvswitchNeedOneChannelInAnyOrder) {
    expect_found(rings_of(machines::dgx2()), 6 * 20.0, PathType::nvl);
    expect_found(rings_of(machines::dgx_a100()), 12 * 20.0, PathType::nvl);
    const RingPlan h100 = rings_of(machines::dgx_h100());
    expect_found(h100, 18 * 20.6, PathType::nvl);
    EXPECT_EQ(h100.found.channels.size(), 1u);
}

TEST(Rings, UseTheNvlinksThatTheUserAdds) {
    const Host host = machines::plain_gpus(8);
    EXPECT_EQ(rings_of(host).found.kinds, std::set{EdgeKind::pcie});
    expect_found(rings_of(with_nvswitches(host, 12)), 12 * 20.0, PathType::nvl);
    EXPECT_THROW(with_nvswitches(machines::dgx1(), 12), Error);
    EXPECT_THROW(with_nvswitches({}, 12), Error);
}

TEST(Rings, OfMi250xStayOnXgmi) {
    const RingPlan plan = rings_of(machines::mi250x());
    expect_sound(plan, plan.found);
    EXPECT_EQ(plan.found.kinds, std::set{EdgeKind::xgmi});
    EXPECT_EQ(plan.found.inside, PathType::nvl);
    EXPECT_GE(plan.found.bandwidth_GBps, 2 * 36.0);  // one ring in both directions
    EXPECT_LE(plan.found.bandwidth_GBps, 3 * 36.0);  // three links leave each GCD
    const double bound = bound_of_rings(plan.hosts.front(), PathType::nvl, 100);
    EXPECT_GE(plan.found.bandwidth_GBps, 0.85 * bound);
}

TEST(Rings, OverTwoIslandsAreHeldUpWhereTheyCross) {
    const RingPlan plan = rings_of(machines::two_xgmi_islands());
    // Four GPUs leave their island by two PCIe switches, of 24 GB/s upwards each.
    expect_found(plan, 2 * 24.0, PathType::sys);
    for (const RingChannel& channel : plan.found.channels) {
        int crossings = 0;
        const auto& members = channel.front().members;
        for (std::size_t i = 0; i < members.size(); ++i)
            crossings += members[i] / 4 != members[(i + 1) % members.size()] / 4;
        EXPECT_EQ(crossings, 2);
    }
}

TEST(Rings, OverPcieCrossTheSocketsOnceInEachDirection) {
    for (const std::vector<int>& place :
         {std::vector{0, 1, 2, 3, 4, 5, 6, 7}, std::vector{0, 4, 1, 5, 2, 6, 3, 7}}) {
        const RingPlan plan = rings_of(machines::pcie_only(place));
        expect_found(plan, 10, PathType::sys);  // Skylake's sockets
        const auto& members = plan.found.channels.front().front().members;
        int crossings = 0;
        for (std::size_t i = 0; i < members.size(); ++i)
            crossings +=
                at(place, members[i]) / 4 != at(place, members[(i + 1) % members.size()]) / 4;
        EXPECT_EQ(crossings, 2);
    }
    // Numbered across the sockets, a ring crosses them four times in each direction.
    EXPECT_NEAR(rings_of(machines::pcie_only({0, 4, 1, 5, 2, 6, 3, 7})).naive.bandwidth_GBps, 2.5,
                1e-9);
}

TEST(Rings, OfLassenAreAsWideAsTheLinkBetweenItsSockets) {
    expect_found(rings_of(machines::lassen()), 32, PathType::sys);
}

// Returns GB/s between two GPUs at one processor.
double rate_of_two(const CpuIdentity& cpu) {
    Host host{.name = "two", .cpu = cpu};
    for (int gpu = 0; gpu < 2; ++gpu) machines::add_gpu(host, 0, machines::gen3_x16, {}, 80);
    return rings_of(host).found.bandwidth_GBps;
}

TEST(Rings, LoseASixthInAnIntelRootComplex) {
    EXPECT_NEAR(rate_of_two(machines::skylake), 12 / 1.2, 1e-9);
    EXPECT_NEAR(rate_of_two(machines::rome), 12, 1e-9);
}

TEST(Rings, ThroughAPowerProcessorShareBothDirectionsOfNvlink) {
    Host host{.name = "two", .cpu = machines::power9};
    for (int gpu = 0; gpu < 2; ++gpu) {
        machines::add_gpu(host, 0, machines::gen3_x16, {}, 70);
        host.links.push_back({.kind = LinkKind::nvlink,
                              .a = machines::device(gpu),
                              .b = {LinkEnd::Kind::numa_node, 0},
                              .count = 3});
    }
    EXPECT_NEAR(rings_of(host).found.bandwidth_GBps, 3 * 20.0 / 2, 1e-9);
}

TEST(Rings, OfOldGpusLoseAnEighthOfWhatNicsSendThem) {
    for (const auto& [capability, bandwidth_GBps] :
         {std::pair(70, 12 / 1.125), std::pair(80, 12.)}) {
        Host host{.name = "one", .cpu = machines::rome};
        const int above = machines::add_switch(host, 0, machines::gen3_x16);
        machines::add_gpu(host, 0, machines::gen3_x16, above, capability);
        machines::add_nic(host, 0, machines::gen4_x16, above, 200);
        EXPECT_NEAR(rings_of(host, 2).found.bandwidth_GBps, bandwidth_GBps, 1e-9);
    }
}

TEST(Rings, OfFewMembersAreWhatTheyCanBe) {
    expect_found(rings_of(machines::plain_gpus(2)), 24, PathType::phb);  // generation 4, 16 lanes
    const RingPlan one = rings_of(machines::plain_gpus(1));
    EXPECT_EQ(one.found.channels.size(), 1u);
    EXPECT_EQ(one.found.bandwidth_GBps, 0);  // like the bus bandwidth of one rank
    EXPECT_EQ(one.found.limit, "");

    Host without_gpus{.name = "cpu", .cpu = machines::skylake};
    for (int node = 0; node < 4; ++node) without_gpus.numa_nodes.push_back({node, Bytes{1}, {}});
    const RingPlan over_memory = rings_of(without_gpus);
    EXPECT_EQ(over_memory.found.channels.front().front().members.size(), 4u);
    EXPECT_EQ(over_memory.found.kinds, std::set{EdgeKind::sockets});
    EXPECT_NE(print_rings(over_memory).find("NUMA nodes"), std::string::npos);
}

TEST(Rings, ShareTheNicsOfSeveralHostsEvenly) {
    struct Case {
        Host host;
        double bandwidth_GBps;
    };
    // PCIe limits the NICs: it is slower than the ports, with generation 3 12 instead of 12.5 GB/s.
    for (const auto& [host, bandwidth_GBps] :
         {Case{machines::dgx1(), 4 * 12.0}, Case{machines::dgx2(), 8 * 12.0},
          Case{machines::dgx_a100(), 4 * 24.0}, Case{machines::dgx_h100(), 8 * 48.0}})
        for (const int hosts : {2, 4}) {
            const RingPlan plan = rings_of(host, hosts);
            expect_found(plan, bandwidth_GBps, PathType::nvl);
            EXPECT_EQ(plan.found.to_port, PathType::pix);
            std::map<int, int> in;
            std::map<int, int> out;
            for (const RingChannel& channel : plan.found.channels) {
                ++in[channel.front().port_in.value()];
                ++out[channel.front().port_out.value()];
                for (std::size_t h = 0; h + 1 < channel.size(); ++h)  // the same rail
                    EXPECT_EQ(channel[h].port_out, channel[h + 1].port_in);
            }
            for (const auto* used : {&in, &out}) {
                EXPECT_EQ(static_cast<int>(used->size()), plan.hosts.front().ports());
                for (const auto& [port, times] : *used) EXPECT_EQ(times, in.begin()->second);
            }
        }
}

TEST(Rings, OverSeveralHostsAreNoFasterThanTheMeasuredNetwork) {
    Machine machine = copies_of(machines::dgx_h100(), 2);
    machine.network = {{0, 1, 40, 2}, {1, 0, 30, 2}};
    const RingPlan plan = plan_rings(machine);
    EXPECT_NEAR(plan.found.bandwidth_GBps, 30, 1e-9);
    EXPECT_EQ(plan.found.limit, "network from host 1 to host 0");
}

TEST(Rings, LeaveOutPortsThatAreSlowOrOfUnknownSpeed) {
    Host host = machines::pcie_only();
    for (const double gigabits : {100., 0., 1., 100.})
        machines::add_nic(host, 0, machines::gen3_x16, 0, gigabits);
    const HostRoutes routes(host);
    ASSERT_EQ(routes.ports(), 2);
    EXPECT_EQ(routes.name(8), "mlx5_0");
    EXPECT_EQ(routes.name(9), "mlx5_3");
}

TEST(Rings, IgnoreNetworkLinksOfUnknownSpeed) {
    Machine machine = copies_of(machines::dgx_h100(), 2);
    const double alone = plan_rings(machine).found.bandwidth_GBps;
    machine.network = {{0, 1, 0, 2}, {1, 0, 0, 2}};
    EXPECT_DOUBLE_EQ(plan_rings(machine).found.bandwidth_GBps, alone);
}

// Eight MI100 in two islands, with four NICs.
Host islands_with_nics() {
    Host host = machines::two_xgmi_islands();
    for (int node = 0; node < 4; ++node) {
        machines::add_nic(host, node, machines::gen4_x16, node, 200);
        host.numa_nodes.push_back({.os_index = node});
    }
    return host;
}

TEST(Rings, OfHostsThatDifferInMemoryAndNamesAreThoseOfEqualHosts) {
    constexpr int hosts = 16;
    Machine machine = copies_of(islands_with_nics(), hosts);
    const RingPlan equal = plan_rings(machine);
    for (int h = 0; h < hosts; ++h) {
        Host& host = at(machine.hosts, h);
        host.numa_nodes[0].memory.count = (1 << 30) + 4096 * h;
        host.transports = {fmt::format("tcp/eth{}", h)};
        host.not_seen = {fmt::format("note {}", h)};
        host.devices.back().ports.front().name = fmt::format("mlx5_{}", 10 + h);
        host.devices.front().pci_address = fmt::format("0000:{:02x}:00.0", h);
    }
    const RingPlan plan = plan_rings(machine);
    EXPECT_DOUBLE_EQ(plan.found.bandwidth_GBps, equal.found.bandwidth_GBps);
    EXPECT_EQ(members_of(plan, plan.found), members_of(equal, equal.found));
    EXPECT_GT(plan.found.bandwidth_GBps, 2 * plan.naive.bandwidth_GBps);
}

TEST(Rings, OfHostsThatReallyDifferAreSearchedForEach) {
    constexpr int hosts = 16;
    Machine machine = copies_of(islands_with_nics(), hosts);
    const double equal = plan_rings(machine).found.bandwidth_GBps;
    for (int h = 0; h < hosts; ++h)  // ports faster than their PCIe links
        for (Device& device : at(machine.hosts, h).devices)
            for (Port& port : device.ports) port.gigabits += h;
    EXPECT_NEAR(plan_rings(machine).found.bandwidth_GBps, equal, 0.01 * equal);
}

TEST(Rings, NameTheHostThatHoldsThemUpWhereHostsDiffer) {
    Machine machine = copies_of(machines::dgx_h100(), 3);
    for (Device& device : machine.hosts[1].devices)
        for (Port& port : device.ports) port.gigabits = 10;
    EXPECT_TRUE(plan_rings(machine).found.limit.starts_with("nvswitch.1: "));
    EXPECT_FALSE(
        plan_rings(copies_of(machines::dgx_h100(), 3)).found.limit.starts_with("nvswitch"));
}

TEST(Rings, TakePortsWithoutNameAtTheirOwnSpeed) {
    Host host = machines::pcie_only();
    for (const double gigabits : {1., 100.}) {
        machines::add_nic(host, 0, machines::gen3_x16, 0, gigabits);
        host.devices.back().ports.front().name.clear();
    }
    const HostRoutes routes(host);
    ASSERT_EQ(routes.ports(), 1);
    EXPECT_EQ(routes.name(8), device_labels(host).back());
}

TEST(Rings, NoteAssumedSpeeds) {
    Host host = machines::pcie_only();
    machines::add_nic(host, 0, machines::gen3_x16, 0, 100);
    machines::add_nic(host, 0, machines::gen3_x16, 0, 0);  // not used, so no assumption
    Machine machine = copies_of(host, 2);
    EXPECT_EQ(print_rings(plan_rings(machine)).find("unknown speed"), std::string::npos);
    for (Device& device : machine.hosts[1].devices)
        for (Port& port : device.ports) port.gigabits = 0;
    EXPECT_NE(print_rings(plan_rings(machine)).find("10 Gbit/s: mlx5_0, mlx5_1\n"),
              std::string::npos);
}

TEST(Rings, OverSeveralHostsNeedNics) {
    EXPECT_THROW(rings_of(machines::mi250x(), 2), Error);
    EXPECT_THROW(plan_rings({}), Error);
}

TEST(Rings, ComeNearTheBestThatAnyRingsCouldDo) {
    double sum = 0;
    constexpr unsigned hosts = 60;
    for (unsigned seed = 0; seed < hosts; ++seed) {
        const RingPlan plan = rings_of(machines::random_host(3 + static_cast<int>(seed % 4), seed));
        expect_sound(plan, plan.found);
        const double bound = bound_of_rings(plan.hosts.front(), plan.found.inside);
        EXPECT_LE(plan.found.bandwidth_GBps, bound * (1 + 1e-6)) << seed;
        EXPECT_GE(plan.found.bandwidth_GBps, 0.9 * bound) << seed;
        sum += plan.found.bandwidth_GBps / bound;
    }
    EXPECT_GE(sum / hosts, 0.98);
}

TEST(Rings, AreNeverWorseThanTheNaiveOrder) {
    for (unsigned seed = 0; seed < 60; ++seed) {
        const Host host = machines::random_host(1 + static_cast<int>(seed % 12), seed);
        const bool has_nics = host.devices.back().kind == DeviceKind::nic;
        for (const int hosts : {1, 3}) {
            if (hosts > 1 && !has_nics) continue;
            const RingPlan plan = rings_of(host, hosts);
            expect_sound(plan, plan.found);
            expect_sound(plan, plan.naive);
            EXPECT_GE(plan.found.bandwidth_GBps, plan.naive.bandwidth_GBps) << seed;
        }
    }
}

TEST(Rings, OfManyGpusAreFoundToo) {
    Host host{.name = "large", .cpu = machines::rome};
    for (int gpu = 0; gpu < 64; ++gpu) {
        if (gpu % 4 == 0) machines::add_switch(host, gpu / 32, machines::gen4_x16);
        machines::add_gpu(host, gpu / 32, machines::gen4_x16, gpu / 4, 80);
    }
    const RingPlan plan = rings_of(host);
    expect_found(plan, 16, PathType::sys);  // between the sockets
}

TEST(Rings, AreTheSameEachTime) {
    const Host host = machines::random_host(10, 7);
    EXPECT_EQ(rings_to_json(rings_of(host)), rings_to_json(rings_of(host)));
}

TEST(Rings, AreWrittenAsOneLineOfRanksPerChannel) {
    const RingPlan plan = rings_of(machines::dgx1(), 2);
    std::istringstream text(print_order(plan));
    std::size_t channels = 0;
    for (std::string line; std::getline(text, line);) {
        if (line.starts_with('#')) continue;
        ++channels;
        std::istringstream words(line);
        std::set<int> ranks;
        for (int rank; words >> rank;) ranks.insert(rank);
        EXPECT_EQ(ranks.size(), 16u);
        EXPECT_EQ(*ranks.begin(), 0);
        EXPECT_EQ(*ranks.rbegin(), 15);
    }
    EXPECT_EQ(channels, plan.found.channels.size());
}

TEST(Rings, GiveProgramsWhatTheyPrint) {
    const auto json = nlohmann::json::parse(rings_to_json(rings_of(machines::dgx1())));
    EXPECT_EQ(json.at("found").at("channels").size(), 6u);
    EXPECT_DOUBLE_EQ(json.at("found").at("GBps").get<double>(), 120);
    EXPECT_EQ(json.at("found").at("inside"), "NVL");
    EXPECT_EQ(json.at("members"), "GPU");
}

}  // namespace
}  // namespace tutti
