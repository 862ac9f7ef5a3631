// SPDX-License-Identifier: Apache-2.0
// Figures computed from message times, and the bytes that any algorithm must send over a network.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "tests/results/samples.hpp"
#include "workloads/limits/least_time.hpp"
#include "workloads/limits/network_limits.hpp"

namespace tutti {
namespace {

constexpr std::int64_t K = 1024;

// 1 Gbit/s and 50 us.
std::vector<MessageTime> times_of_link(double latency_ns = 50'000, double gbps = 0.125,
                                       std::int64_t burst = 0) {
    std::vector<MessageTime> times;
    for (std::int64_t bytes = 8; bytes <= 4096 * K; bytes *= 2)
        times.push_back(
            {bytes,
             latency_ns + static_cast<double>(std::max<std::int64_t>(bytes - burst, 0)) / gbps});
    return times;
}

Call call_of(Collective collective, std::int64_t bytes, Rank root = Rank{0}) {
    return {.collective = collective, .type = DataType::int8, .root = root, .count = bytes};
}

// Hosts that are alike: 0.125 GB/s in each direction, 50 us.
HostNetwork network_of(int hosts) {
    HostNetwork network;
    for (int a = 0; a < hosts; ++a) {
        network.hosts.push_back(std::to_string(a));
        for (int b = a + 1; b < hosts; ++b)
            network.links.push_back(
                {.a = a, .b = b, .latency_ns = 50'000, .gbps = 0.125, .back_gbps = 0.125});
    }
    return network;
}

}  // namespace

TEST(LinkFit, FindsWhatTimesWereMadeOf) {
    const LinkFit fit = fit_link(times_of_link());
    EXPECT_NEAR(fit.latency_ns, 50'064, 0.1);  // eight bytes are in it
    EXPECT_NEAR(fit.gbps, 0.125, 1e-9);
    EXPECT_LE(fit.burst, 8);
    EXPECT_NEAR(fit.residual, 0, 1e-9);
}

TEST(LinkFit, FindsABurst) {
    const LinkFit fit = fit_link(times_of_link(50'000, 0.125, 64 * K));
    EXPECT_NEAR(fit.latency_ns, 50'000, 0.1);
    EXPECT_NEAR(fit.gbps, 0.125, 1e-9);
    EXPECT_EQ(fit.burst, 64 * K);
}

// One of five large messages was disturbed in every round, and the library has a second protocol
// from 64 KiB on.
TEST(LinkFit, IgnoresOutliers) {
    auto times = times_of_link();
    for (MessageTime& time : times)
        if (time.bytes >= 64 * K) time.ns += 100'000;
    times[times.size() - 2].ns *= 3;
    const LinkFit fit = fit_link(times);
    EXPECT_NEAR(fit.gbps, 0.125, 0.0125);
    EXPECT_NEAR(fit.latency_ns, 50'064, 0.1);
    EXPECT_LT(fit.residual, 0.1);
}

// The smaller of two large sizes came late each time: the slope between them would be 0.25 GB/s.
TEST(LinkFit, IsNoFasterThanWasMeasured) {
    const MessageTime times[] = {{8, 50'000}, {256 * K, 4'240'000}, {512 * K, 5'290'000}};
    EXPECT_NEAR(fit_link(times).gbps, 524'288 / 5'240'000.0, 1e-9);
}

TEST(LinkFit, OfLittleIsWhatThereIs) {
    EXPECT_EQ(fit_link({}).gbps, 0);
    const MessageTime one{8, 700};
    EXPECT_EQ(fit_link(std::span(&one, 1)).latency_ns, 700);
    const MessageTime two[] = {{8, 700}, {1008, 1700}};
    EXPECT_NEAR(fit_link(two).gbps, 1, 1e-9);
}

TEST(RoundsOfPairs, AreDisjointAndOfFewHostsAllPairs) {
    for (int hosts = 2; hosts <= 40; ++hosts) {
        std::set<std::pair<int, int>> all;
        std::set<int> met;
        for (const auto& round : rounds_of_pairs(hosts)) {
            std::set<int> busy;
            for (const auto& [a, b] : round) {
                EXPECT_LT(a, b);
                EXPECT_LT(b, hosts);
                EXPECT_TRUE(busy.insert(a).second && busy.insert(b).second);
                EXPECT_TRUE(all.emplace(a, b).second);
                met.insert({a, b});
            }
        }
        EXPECT_EQ(met.size(), static_cast<std::size_t>(hosts));
        if (hosts <= 8)
            EXPECT_EQ(all.size(), static_cast<std::size_t>(hosts * (hosts - 1) / 2));
        else
            EXPECT_LE(rounds_of_pairs(hosts).size(), 6U);
    }
}

// Two hosts of two ranks, n bytes of a vector or of each block: counted by hand.
TEST(Crossing, IsTheLeastThatMustLeaveAHostOrComeToIt) {
    const Placement hosts = Placement::in_nodes_of(4, 2);
    const double n = 1000;
    const auto expect = [&](Collective collective, std::vector<double> out, std::vector<double> in,
                            double total) {
        const LeastCrossing crossing = least_crossing(call_of(collective, 1000), hosts);
        EXPECT_EQ(crossing.out, out) << name_of(collective);
        EXPECT_EQ(crossing.in, in) << name_of(collective);
        EXPECT_EQ(crossing.total, total) << name_of(collective);
    };
    expect(Collective::all_reduce, {n, n}, {n, n}, 2 * n);
    expect(Collective::reduce_scatter, {2 * n, 2 * n}, {2 * n, 2 * n}, 4 * n);
    expect(Collective::all_gather, {2 * n, 2 * n}, {2 * n, 2 * n}, 4 * n);
    expect(Collective::all_to_all, {4 * n, 4 * n}, {4 * n, 4 * n}, 8 * n);
    expect(Collective::broadcast, {n, 0}, {0, n}, n);
    expect(Collective::reduce, {0, n}, {n, 0}, n);
    expect(Collective::scatter, {2 * n, 0}, {0, 2 * n}, 2 * n);
    expect(Collective::gather, {0, 2 * n}, {2 * n, 0}, 2 * n);
    expect(Collective::scan, {n, 0}, {0, n}, n);
    expect(Collective::exscan, {n, 0}, {0, n}, n);
    expect(Collective::barrier, {0, 0}, {0, 0}, 0);
}

// Ranks 0 and 2 are on one host, 1 and 3 on the other: sums go there, back and there again.
TEST(Crossing, OfAPrefixDependsOnTheOrderOfTheRanks) {
    const LeastCrossing crossing =
        least_crossing(call_of(Collective::scan, 1000), Placement::by_label({0, 1, 0, 1}));
    EXPECT_EQ(crossing.out, (std::vector<double>{1000, 1000}));
    EXPECT_EQ(crossing.in, (std::vector<double>{1000, 1000}));
    EXPECT_EQ(crossing.total, 2000);
}

TEST(Crossing, OfOneHostIsNothing) {
    for (const Collective collective : all_collectives())
        EXPECT_EQ(least_crossing(call_of(collective, 1000), Placement::one_node(4)).total, 0);
}

// The bytes that leave equal those that arrive, and no host has more than the total, with any root
// and placement.
TEST(Crossing, Adds) {
    for (const Collective collective : all_collectives())
        for (const auto& labels : {std::vector{0, 0, 1, 2, 2, 2}, std::vector{0, 1, 0, 1, 2, 0}})
            for (int root = 0; root < 6; ++root) {
                const LeastCrossing crossing = least_crossing(call_of(collective, 10, Rank{root}),
                                                              Placement::by_label(labels));
                double out = 0, in = 0;
                for (std::size_t host = 0; host < 3; ++host) {
                    out += crossing.out[host];
                    in += crossing.in[host];
                }
                EXPECT_LE(out, crossing.total) << name_of(collective);
                EXPECT_LE(in, crossing.total) << name_of(collective);
            }
}

// 2 (H - 1) / H of the message in each direction, and one latency of the network.
TEST(LeastTimeBetween, OfAllReduceIsThatOfItsBytes) {
    const double n = 1 << 20;
    for (const int hosts : {2, 3, 4, 8})
        EXPECT_NEAR(least_time_between(network_of(hosts), call_of(Collective::all_reduce, 1 << 20),
                                       Placement::in_nodes_of(2 * hosts, 2)),
                    50'000 + std::max(2.0 * (hosts - 1) / hosts, 1.0) * n / 0.125, 1);
}

TEST(LeastTimeBetween, IsThatOfTheSlowestHost) {
    HostNetwork network = network_of(3);
    for (HostLink& link : network.links)
        if (link.b == 2) link.gbps = link.back_gbps = 0.0125;
    EXPECT_NEAR(least_time_between(network, call_of(Collective::all_reduce, 1 << 20),
                                   Placement::in_nodes_of(3, 1)),
                50'000 + (1 << 20) / 0.0125, 1);
}

// The total of all hosts is unknown then, and the known part must not replace it.
TEST(LeastTimeBetween, AddsNothingUpWhereAHostIsNotKnown) {
    HostNetwork network = network_of(2);
    network.all_gbps = 0;
    const Call call = call_of(Collective::all_gather, 1 << 20);
    const Placement three = Placement::in_nodes_of(3, 1);
    EXPECT_NEAR(least_time_between(network, call, three), 50'000 + 2 * (1 << 20) / 0.125, 1);
}

TEST(LeastTimeBetween, LetsBurstsPass) {
    HostNetwork network = network_of(2);
    network.links[0].burst = {64 * K};
    const auto time = [&](std::int64_t bytes) {
        return least_time_between(network, call_of(Collective::broadcast, bytes),
                                  Placement::in_nodes_of(2, 1));
    };
    EXPECT_EQ(time(64 * K), 50'000);
    EXPECT_NEAR(time(65 * K), 50'000 + K / 0.125, 1);
}

TEST(LeastTime, OfSeveralHostsIsTheGreaterOfBothBounds) {
    Limits limits = sample_limits();
    const Call call = call_of(Collective::all_reduce, 1 << 20);
    const Placement hosts = Placement::in_nodes_of(4, 2);
    limits.network.reset();
    EXPECT_EQ(least_time(limits, call, hosts, false, Reach::unregistered), 0);  // no network known
    limits.network = network_of(2);
    EXPECT_NEAR(least_time(limits, call, hosts, false, Reach::unregistered),
                50'000 + (1 << 20) / 0.125, 1);
    limits.network = network_of(2);
    for (HostLink& link : limits.network->links)
        link.latency_ns = 1, link.gbps = link.back_gbps = 1e6;
    EXPECT_EQ(least_time(limits, call, hosts, false, Reach::unregistered),
              least_time(limits, call, 2, false, Reach::unregistered));
    EXPECT_EQ(least_time(limits, call, Placement::one_node(2), false, Reach::unregistered),
              least_time(limits, call, 2, false, Reach::unregistered));
    limits.network = network_of(3);
    // Limits of other hosts
    EXPECT_EQ(least_time(limits, call, hosts, false, Reach::unregistered), 0);
}

TEST(HostNetwork, IsMeasuredBetweenThreadsThatPlayHosts) {
    run_as_threads(6, 60, [](World& world) {
        const HostNetwork network = measure_network(world, Placement::in_nodes_of(6, 2), 0.02);
        ASSERT_EQ(network.links.size(), 3U);
        for (const HostLink& link : network.links) {
            EXPECT_LT(link.a, link.b);
            EXPECT_GT(link.latency_ns, 0);
        }
        EXPECT_GT(network.all_gbps, 0);
        for (const double rate : gather_all(world, network.all_gbps))
            EXPECT_EQ(rate, network.all_gbps);
    });
}

}  // namespace tutti
