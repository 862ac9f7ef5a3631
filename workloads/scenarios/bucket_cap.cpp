// SPDX-License-Identifier: Apache-2.0
#include "workloads/scenarios/bucket_cap.hpp"

#include <algorithm>
#include <numeric>

#include "base/clock.hpp"
#include "workloads/bench/device_buffers.hpp"

namespace tutti {
namespace {

double exposed_in(std::span<const Bucket> buckets, Bytes element, const ComputeTimes& times,
                  const Channel& channel) {
    std::vector<TimedMessage> messages;
    for (const Bucket& bucket : buckets)
        messages.push_back(
            {times.ready_ns[static_cast<std::size_t>(std::ranges::max(bucket.parameters))],
             Bytes{bucket.count * element.count}});
    return exposed_ns(messages, times.backward_ns, channel);
}

std::vector<Bytes> candidate_caps(Bytes all) {
    constexpr std::int64_t usual = 25 << 20;
    std::vector<Bytes> caps;
    for (std::int64_t cap = 256 << 10;; cap *= 2) {
        if (cap > usual && cap / 2 < usual) caps.push_back({usual});
        caps.push_back({cap});
        if (cap >= all.count) return caps;
    }
}

// The median call of the slowest rank. Collective.
double time_of(World& world, Operation& operation) {
    constexpr int calls = 21;
    std::vector<double> times;
    for (int i = 0; i < calls; ++i) {
        world.barrier();
        const std::int64_t began = now_ns();
        operation.run();
        times.push_back(static_cast<double>(now_ns() - began));
    }
    std::ranges::nth_element(times, times.begin() + calls / 2);
    return std::ranges::max(gather_all(world, times[calls / 2]));
}

}  // namespace

std::vector<CapTried> try_caps(std::span<const std::int64_t> counts, Bytes element, Bytes first,
                               std::span<const ComputeTimes> times, const Channel& channel) {
    std::vector<int> order(counts.size());
    std::iota(order.begin(), order.end(), 0);
    const Bytes all{std::accumulate(counts.begin(), counts.end(), std::int64_t{0}) * element.count};
    std::vector<CapTried> tried;
    for (const Bytes cap : candidate_caps(all)) {
        CapTried& one = tried.emplace_back();
        one.caps = {.first = std::min(first, cap), .others = cap};
        const auto buckets = buckets_of(counts, order, element, one.caps);
        one.buckets = buckets.size();
        for (const ComputeTimes& step : times)
            one.exposed_ns +=
                exposed_in(buckets, element, step, channel) / static_cast<double>(times.size());
    }
    return tried;
}

const CapTried& best_of(std::span<const CapTried> tried) {
    const CapTried* best = &tried.front();
    for (const CapTried& one : tried)
        if (one.exposed_ns <= best->exposed_ns) best = &one;
    return *best;
}

Channel measured_channel(const WorkloadEnvironment& environment) {
    World& world = environment.planner.world();
    constexpr Bytes small{64 << 10}, large{32 << 20};  // more than caches keep
    const auto call_of = [](Bytes bytes) { return Call{.op = Op::avg, .count = bytes.count / 4}; };
    std::vector<BufferKind> kinds;
    if (environment.buffers) kinds.push_back(*environment.buffers);
    const BufferPool stage(world, BufferPool::bytes_for(call_of(large), world.size(), true), kinds,
                           device_buffers(environment.planner, environment.transports));
    const auto buffers_of = [&](Bytes bytes) {
        return stage.set(call_of(bytes), true, stage.kinds().front());
    };
    const Environment here{
        .ranks = world.size(), .hosts = world.hosts(), .default_segment = default_segment(world)};
    for (const Method& way : environment.named) {
        const auto group = way.of_group(environment.planner, here);
        bool can = true;
        double ns[2] = {};
        for (const Bytes bytes : {small, large})
            can = !group->refuses(call_of(bytes), buffers_of(bytes)) && can;
        if (!true_on_all_ranks(world, can)) continue;
        for (const Bytes bytes : {small, large}) {
            ns[bytes == large ? 1 : 0] =
                time_of(world, *group->operation(call_of(bytes), buffers_of(bytes)));
        }
        return channel_through(small, ns[0], large, ns[1]);
    }
    throw Error(
        "--bucket-cap auto: no way here can all-reduce, so the network is not known; type "
        "--network 100us+1.25GB/s");
}

}  // namespace tutti
