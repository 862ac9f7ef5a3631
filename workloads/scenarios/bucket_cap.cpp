// SPDX-License-Identifier: Apache-2.0
#include "workloads/scenarios/bucket_cap.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "base/index.hpp"
#include "results/statistics/statistics.hpp"
#include "workloads/bench/buffer_pool.hpp"

namespace tutti {

namespace {

double exposed_in(std::span<const Bucket> buckets, Bytes element, const ComputeTimes& times,
                  const NetworkModel& network) {
    std::vector<TimedMessage> messages;
    for (const Bucket& bucket : buckets)
        messages.push_back({at(times.ready_ns, std::ranges::max(bucket.parameters)),
                            Bytes{bucket.count * element.count}});
    return exposed_ns(messages, times.backward_ns, network);
}

std::vector<Bytes> candidate_caps(Bytes all) {
    constexpr std::int64_t ddp_cap = 25 << 20;
    std::vector<Bytes> caps;
    for (std::int64_t cap = 256 << 10;; cap *= 2) {
        if (cap > ddp_cap && cap / 2 < ddp_cap) caps.push_back({ddp_cap});
        caps.push_back({cap});
        if (cap >= all.count) return caps;
    }
}

// Returns the median time of the slowest rank. Collective.
double time_of(World& world, Operation& operation) {
    constexpr int calls = 21;
    std::vector<double> times;
    for (int i = 0; i < calls; ++i) {
        world.barrier();
        const std::int64_t began = now_ns();
        operation.run();
        times.push_back(static_cast<double>(now_ns() - began));
    }
    return std::ranges::max(gather_all(world, median(std::move(times))));
}

}  // namespace

std::vector<CapTrial> try_caps(std::span<const std::int64_t> counts, Bytes element, Bytes first,
                               std::span<const ComputeTimes> times, const NetworkModel& network) {
    std::vector<int> order(counts.size());
    std::iota(order.begin(), order.end(), 0);
    const Bytes all{std::accumulate(counts.begin(), counts.end(), std::int64_t{0}) * element.count};
    std::vector<CapTrial> tried;
    for (const Bytes cap : candidate_caps(all)) {
        CapTrial& one = tried.emplace_back();
        one.caps = {.first = std::min(first, cap), .others = cap};
        const auto buckets = buckets_of(counts, order, element, one.caps);
        one.buckets = buckets.size();
        for (const ComputeTimes& step : times)
            one.exposed_ns +=
                exposed_in(buckets, element, step, network) / static_cast<double>(times.size());
    }
    return tried;
}

const CapTrial& best_of(std::span<const CapTrial> tried) {
    const CapTrial* best = &tried.front();
    for (const CapTrial& one : tried)
        if (one.exposed_ns <= best->exposed_ns) best = &one;
    return *best;
}

NetworkModel measured_network_model(const WorkloadEnvironment& environment) {
    World& world = environment.planner.world();
    constexpr Bytes small{64 << 10}, large{32 << 20};  // larger than caches
    const auto call_of = [](Bytes bytes) { return Call{.op = Op::avg, .count = bytes.count / 4}; };
    std::vector<BufferKind> kinds;
    if (environment.buffers) kinds.push_back(*environment.buffers);
    const BufferPool pool(world, BufferPool::bytes_for(call_of(large), world.size(), true), kinds,
                          device_buffers(environment.planner, environment.transports));
    const auto buffers_of = [&](Bytes bytes) {
        return pool.buffers_for(call_of(bytes), true, pool.kinds().front());
    };
    const Environment here = environment_of(world);
    for (const Method& method : environment.named) {
        const auto group = method.of_group(environment.planner, here);
        bool can = true;
        double ns[2] = {};
        for (const Bytes bytes : {small, large})
            can = !group->refuses(call_of(bytes), buffers_of(bytes)) && can;
        if (!true_on_all_ranks(world, can)) continue;
        for (const Bytes bytes : {small, large}) {
            ns[bytes == large ? 1 : 0] =
                time_of(world, *group->operation(call_of(bytes), buffers_of(bytes)));
        }
        return network_model_through(small, ns[0], large, ns[1]);
    }
    throw Error(
        "--bucket-cap auto: no method here can all-reduce, so the network cannot be measured; use "
        "--network 100us+1.25GB/s");
}

NetworkModel parse_network_model(std::string_view text) {
    const auto refuse = [&] {
        return Error(fmt::format("'{}' is not a network model such as 100us+1.25GB/s", text));
    };
    const std::size_t plus = text.find('+');
    constexpr std::string_view unit = "GB/s";
    if (plus == text.npos || !text.ends_with(unit)) throw refuse();
    const std::string_view speed = text.substr(plus + 1, text.size() - plus - 1 - unit.size());
    const auto bandwidth_GBps = number_in<double>(speed);
    double seconds = 0;
    try {
        seconds = parse_seconds(text.substr(0, plus));
    } catch (const Error&) {
        throw refuse();
    }
    if (!bandwidth_GBps || !(*bandwidth_GBps > 0) || *bandwidth_GBps > 1e9 || seconds < 0)
        throw refuse();
    return {.latency_ns = std::round(seconds * 1e9), .ns_per_byte = 1 / *bandwidth_GBps};
}

NetworkModel network_model_through(Bytes small, double small_ns, Bytes large, double large_ns) {
    const double ns_per_byte =
        std::max(0.0, (large_ns - small_ns) / static_cast<double>(large.count - small.count));
    const double latency = small_ns - ns_per_byte * static_cast<double>(small.count);
    return {.latency_ns = std::max(0.0, latency), .ns_per_byte = ns_per_byte};
}

double exposed_ns(std::span<const TimedMessage> messages, std::int64_t end_ns,
                  const NetworkModel& network) {
    double free_at = 0;
    for (const TimedMessage& one : messages)
        free_at = std::max(free_at, static_cast<double>(one.ready_ns)) + network.ns_of(one.bytes);
    return std::max(0.0, free_at - static_cast<double>(end_ns));
}

}  // namespace tutti
