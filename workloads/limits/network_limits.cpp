// SPDX-License-Identifier: Apache-2.0
#include "workloads/limits/network_limits.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>

#include "base/clock.hpp"
#include "base/index.hpp"
#include "collectives/transport/messages/point_to_point_channel.hpp"
#include "results/statistics/statistics.hpp"

namespace tutti {
namespace {

// The smallest message of the fit: by then bursts are over, and libraries use their protocol for
// large messages. Where there are too few such sizes, smaller ones are used.
constexpr std::int64_t large_from[] = {256 << 10, 64 << 10, 0};

struct Points {
    std::vector<double> bytes, ns;
};

Points points_of(std::span<const MessageTime> times, std::int64_t from) {
    Points points;
    for (const MessageTime& time : times) {
        if (time.bytes < from) continue;
        points.bytes.push_back(static_cast<double>(time.bytes));
        points.ns.push_back(time.ns);
    }
    return points;
}

// Returns GB/s of the best single message without its latency.
double best_rate(const Points& points, double latency_ns) {
    double most = 0;
    for (std::size_t i = 0; i < points.ns.size(); ++i)
        if (points.ns[i] > latency_ns)
            most = std::max(most, points.bytes[i] / (points.ns[i] - latency_ns));
    return most;
}

}  // namespace

LinkFit fit_link(std::span<const MessageTime> times) {
    LinkFit fit;
    if (times.empty()) return fit;
    fit.latency_ns = times.front().ns;
    Points points;
    for (const std::int64_t from : large_from)
        if (points.bytes.size() < 2) points = points_of(times, from);
    const double slope = theil_sen_slope(points.bytes, points.ns);
    if (slope <= 0) return fit;
    // Where the smaller of two sizes was disturbed, the slope is a bandwidth that no message
    // reached.
    const double seen = best_rate(points, fit.latency_ns);
    if (slope * seen < 1) {
        fit.gbps = seen;
        return fit;
    }
    fit.gbps = 1 / slope;
    std::vector<double> starts;
    for (std::size_t i = 0; i < points.ns.size(); ++i)
        starts.push_back(points.ns[i] - slope * points.bytes[i]);
    const double start = median(starts);
    fit.burst = std::max<std::int64_t>(std::llround((fit.latency_ns - start) / slope), 0);
    std::vector<double> distances;
    for (std::size_t i = 0; i < points.ns.size(); ++i)
        if (points.ns[i] > 0) distances.push_back(std::abs(starts[i] - start) / points.ns[i]);
    if (!distances.empty()) fit.residual = median(std::move(distances));
    return fit;
}

namespace {

constexpr std::array<std::int64_t, 11> sizes{
    8, 256, 1 << 10, 4 << 10, 16 << 10, 64 << 10, 256 << 10, 512 << 10, 1 << 20, 2 << 20, 4 << 20};
constexpr std::int64_t cheap_bytes = 16 << 10;  // up to here a round tries several times
constexpr int times_of_cheap = 10;
constexpr int least_network_rounds = 4;
constexpr int most_rounds = 1000;

// Least times by size, in ns; 0: not measured yet.
using Times = std::array<double, sizes.size()>;

// Times of a link in one direction, in the other, and in both, as seen from its first host.
struct PairTimes {
    Times there{}, back{}, both{};
};

class HostPair {
public:
    HostPair(World& world, PointToPointChannel& channel, Rank first, Rank second)
        : channel_(channel),
          first_(first),
          second_(second),
          leads_(world.rank() == first),
          peer_(leads_ ? second : first),
          out_(as_size(sizes.back())),
          in_(out_.size()) {}

    // Runs on both ends; only the first one's result has all times.
    PairTimes measure(double seconds) {
        const std::int64_t end = now_ns() + static_cast<std::int64_t>(seconds * 1e9);
        // On slow networks the largest sizes would leave few tries, and long messages are more
        // likely to be disturbed.
        const double most_of_size = seconds * 1e9 / 20;
        PairTimes times;
        for (int round = 0; round < most_rounds; ++round) {
            bool is_long = false;
            for (std::size_t i = 0; i < sizes.size() && !is_long; ++i) {
                const int tries = sizes[i] <= cheap_bytes ? times_of_cheap : 1;
                for (int attempt = 0; attempt < tries; ++attempt) try_size(i, times);
                is_long =
                    from_leader(times.there[i] + times.back[i] + times.both[i] > most_of_size);
            }
            if (from_leader(round + 1 >= least_network_rounds && now_ns() > end)) break;
        }
        return times;
    }

private:
    void try_size(std::size_t i, PairTimes& times) {
        const auto bytes = as_size(sizes[i]);
        keep_least(times.there[i], one_way(first_, bytes));
        keep_least(times.back[i], one_way(second_, bytes));
        keep_least(times.both[i], both_directions(bytes));
    }

    // Sends a message and waits for a short answer. Returns the sender's time, on the first.
    double one_way(Rank from, std::size_t bytes) {
        const bool sends = (from == first_) == leads_;
        double took = 0;
        if (sends) {
            const std::int64_t began = now_ns();
            channel_.send(peer_, std::span(out_).first(bytes));
            channel_.receive_value<double>(peer_);
            took = static_cast<double>(now_ns() - began);
        } else {
            channel_.receive(peer_, std::span(in_).first(bytes));
            channel_.send_value(peer_, 0.0);
        }
        if (from == first_) return took;
        if (sends) channel_.send_value(peer_, took);
        return leads_ ? channel_.receive_value<double>(peer_) : took;
    }

    // The rank that starts later finds the other's message already there: the longer of the two
    // times counts.
    double both_directions(std::size_t bytes) {
        const std::int64_t began = now_ns();
        channel_.exchange(peer_, std::span(out_).first(bytes), peer_, std::span(in_).first(bytes));
        const auto mine = static_cast<double>(now_ns() - began);
        double theirs = 0;
        channel_.exchange(peer_, std::as_bytes(std::span(&mine, 1)), peer_,
                          std::as_writable_bytes(std::span(&theirs, 1)));
        return std::max(mine, theirs);
    }

    bool from_leader(bool mine) {
        if (!leads_) return channel_.receive_value<char>(peer_) != 0;
        channel_.send_value(peer_, static_cast<char>(mine));
        return mine;
    }

    PointToPointChannel& channel_;
    Rank first_, second_;
    bool leads_;
    Rank peer_;
    std::vector<std::byte> out_, in_;
};

// Subtracts the answer, which takes as long as the shortest message.
LinkFit fit_one_way(const Times& round_trips, double answer_ns) {
    std::vector<MessageTime> times;
    for (std::size_t i = 0; i < sizes.size(); ++i)
        if (round_trips[i] > 0)
            times.push_back({sizes[i], std::max(round_trips[i] - answer_ns, 0.0)});
    return fit_link(times);
}

HostLink fit(int a, int b, const PairTimes& times) {
    const double answer = std::min(times.there[0], times.back[0]) / 2;
    const LinkFit there = fit_one_way(times.there, answer);
    const LinkFit back = fit_one_way(times.back, answer);
    const LinkFit both = fit_one_way(times.both, 0);
    const auto rounded = [](double number, double unit) {
        return std::round(number * unit) / unit;
    };
    return {.a = a,
            .b = b,
            .latency_ns = std::round(std::min(there.latency_ns, back.latency_ns)),
            .gbps = rounded(there.gbps, 1e5),
            .back_gbps = rounded(back.gbps, 1e5),
            .both_gbps = rounded(both.gbps, 1e5),
            .burst = {std::max(there.burst, back.burst)},
            .residual = rounded(std::max(there.residual, back.residual), 1e4)};
}

// All ranks of each host send to those of the next at once. Returns GB/s out of a host, and into
// it. If hosts have different numbers of ranks, only leaders take part.
double all_at_once(World& world, PointToPointChannel& channel, const Placement& hosts,
                   double seconds) {
    const auto& nodes = hosts.nodes();
    const auto is_as_large = [&](const auto& node) { return node.size() == nodes[0].size(); };
    const std::size_t streams = std::ranges::all_of(nodes, is_as_large) ? nodes[0].size() : 1;
    const auto most = as_size(sizes.back()) / streams;
    std::vector<std::byte> out(most), in(most);
    std::optional<std::pair<Rank, Rank>> peers;
    for (std::size_t host = 0; host < nodes.size(); ++host)
        for (std::size_t i = 0; i < streams; ++i)
            if (nodes[host][i] == world.rank())
                peers = {nodes[(host + 1) % nodes.size()][i],
                         nodes[(host + nodes.size() - 1) % nodes.size()][i]};
    const std::int64_t end = now_ns() + static_cast<std::int64_t>(seconds * 1e9);
    double best = 0;
    for (int round = 0; round < most_rounds; ++round) {
        const std::size_t bytes = most >> (round % 3);  // short queues drop large ones
        world.barrier();
        const std::int64_t began = now_ns();
        if (peers)
            channel.exchange(peers->first, std::span(out).first(bytes), peers->second,
                             std::span(in).first(bytes));
        const auto all = gather_all(world, static_cast<double>(now_ns() - began));
        const double took = *std::ranges::max_element(all);
        best = std::max(best, static_cast<double>(bytes * streams) / took);
        if (from_rank0(world,
                       static_cast<char>(round + 1 >= least_network_rounds && now_ns() > end)) != 0)
            break;
    }
    return std::round(best * 1e5) / 1e5;
}

}  // namespace

std::vector<std::string> names_of_hosts(World& world, const Placement& hosts) {
    char name[256] = {};
    gethostname(name, sizeof name - 1);
    const auto all = gather_all_texts(world, name);
    std::vector<std::string> names;
    for (const Rank leader : hosts.leaders()) names.push_back(at(all, leader));
    return names;
}

std::vector<std::vector<std::pair<int, int>>> rounds_of_pairs(int hosts) {
    constexpr int most_of_all_pairs = 8;
    std::vector<std::vector<std::pair<int, int>>> rounds;
    const int numbers = static_cast<int>(std::bit_ceil(static_cast<unsigned>(hosts)));
    for (int difference = 1; difference < numbers; ++difference) {
        const bool is_one_bit = std::has_single_bit(static_cast<unsigned>(difference));
        if (hosts > most_of_all_pairs && !is_one_bit) continue;
        auto& round = rounds.emplace_back();
        for (int host = 0; host < hosts; ++host)
            if (const int other = host ^ difference; host < other && other < hosts)
                round.emplace_back(host, other);
    }
    return rounds;
}

HostNetwork measure_network(World& world, const Placement& hosts, double seconds) {
    PointToPointChannel channel(world);
    auto rounds = rounds_of_pairs(static_cast<int>(hosts.nodes().size()));
    if (world.oversubscribed) {  // hosts that share cores would disturb each other
        decltype(rounds) one_by_one;
        for (const auto& round : rounds)
            for (const auto& pair : round) one_by_one.push_back({pair});
        rounds = std::move(one_by_one);
    }
    const auto leaders = hosts.leaders();
    const double share = seconds / static_cast<double>(rounds.size() + 1);
    std::vector<HostLink> mine;
    for (const auto& round : rounds) {
        for (const auto& [a, b] : round) {
            const Rank first = at(leaders, a);
            const Rank second = at(leaders, b);
            if (world.rank() != first && world.rank() != second) continue;
            const PairTimes times = HostPair(world, channel, first, second).measure(share);
            if (world.rank() == first) mine.push_back(fit(a, b, times));
        }
        world.sleeping_barrier(10 * share + 1);  // slow links take longer than their share
    }
    HostNetwork network{.hosts = names_of_hosts(world, hosts),
                        .links = {},
                        .all_gbps = all_at_once(world, channel, hosts, share)};
    std::vector<HostLink> room(hosts.nodes().size());
    const auto counts = gather_all(world, mine.size());
    mine.resize(room.size());
    room.resize(room.size() * as_size(world.size()));
    world.all_gather(std::as_bytes(std::span(mine)), std::as_writable_bytes(std::span(room)));
    for (std::size_t rank = 0; rank < counts.size(); ++rank)
        for (std::size_t i = 0; i < counts[rank]; ++i)
            network.links.push_back(room[rank * hosts.nodes().size() + i]);
    std::ranges::sort(network.links, {},
                      [](const HostLink& link) { return std::pair(link.a, link.b); });
    return network;
}

}  // namespace tutti
