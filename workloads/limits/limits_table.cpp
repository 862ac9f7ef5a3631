// SPDX-License-Identifier: Apache-2.0
#include "workloads/limits/limits_table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <vector>

#include "base/index.hpp"
#include "workloads/limits/least_time.hpp"

namespace tutti {
namespace {

std::string time_text(double ns) {
    if (ns <= 0) return "N/A";
    if (ns < 1e3) return fmt::format("{:.0f} ns", ns);
    if (ns < 1e6) return fmt::format("{:.3g} us", ns / 1e3);
    return fmt::format("{:.3g} ms", ns / 1e6);
}

// Formats the curves for one number of active cores. Each column is a pass with its kind of store.
std::string bandwidths(const Limits& limits, int cores) {
    std::string heads, kinds;
    std::vector<const Curve*> columns;
    for (const Curve& curve : limits.curves) {
        if (curve.cores != cores) continue;
        columns.push_back(&curve);
        heads += fmt::format("  {:>14}", curve.pass);
        kinds += fmt::format("  {:>14}", curve.stores);
    }
    std::string text = fmt::format(
        "#\n# GB/s of {}, read and written together\n",
        cores == 1 ? "one core, alone" : fmt::format("each of {} cores at once", cores));
    text += fmt::format("# {:>12}{}\n# {:>12}{}\n", "bytes a core", heads, "stores", kinds);
    for (const Bytes size : columns.front()->rates.bytes) {
        text += fmt::format("  {:>12}", to_string(size));
        for (const Curve* column : columns)
            text += fmt::format("  {:>14.1f}", column->rates.at(size));
        text += '\n';
    }
    return text;
}

std::string rates(const char* what, const Rates& rates) {
    std::string text;
    for (std::size_t i = 0; i < rates.bytes.size(); ++i)
        text +=
            fmt::format("  {:<34}{:>10.1f} GB/s\n",
                        fmt::format("{} of {}", what, to_string(rates.bytes[i])), rates.gbps[i]);
    return text;
}

std::string latencies(const Limits& limits) {
    std::string text = "#\n# latency between ranks\n";
    const auto row = [&](const std::string& what, double ns) {
        text += fmt::format("  {:<34}{:>10}\n", what, time_text(ns));
    };
    for (const SignalLatency& pair : limits.signal_latencies) {
        const std::string who = fmt::format("rank {} and rank {}", pair.a.index, pair.b.index);
        row("cache line, one direction, " + who, pair.one_way_ns);
        row("exchange, " + who, pair.exchange_ns);
    }
    row("next rank on the same core (yield)", limits.yield_ns);
    row("futex wake-up, other core", limits.wake_ns);
    row("futex wake-up, same core", limits.wake_same_core_ns);
    row("reading the clock", limits.clock_ns);
    row("single copy of 64 bytes", limits.single_copy_ns);
    return text + rates("single copy", limits.single_copy) +
           rates("staged copy in pieces", limits.staged);
}

std::string streaming(const Limits& limits) {
    std::string text =
        "#\n# all ranks add their share of all inputs and store the sum into all outputs\n";
    text += fmt::format("# {:>12}  {:>13}  {:>13}\n", "total bytes", "cached", "streaming");
    for (const StreamTrial& trial : limits.stream_trials)
        text += fmt::format("  {:>12}  {:>13}  {:>13}\n", to_string(trial.bytes),
                            time_text(trial.cached_ns), time_text(trial.streaming_ns));
    const bool never =
        limits.stream_trials.empty() || limits.stream_from > limits.stream_trials.back().bytes;
    return text + fmt::format("  streaming stores from {}\n",
                              never ? "no size on" : to_string(limits.stream_from));
}

std::string between_hosts(const HostNetwork& network) {
    std::string text =
        "#\n# messages between two hosts, one direction: latency + (bytes - burst) / bandwidth; "
        "GB/s in both directions with one\n# message at a time, and in each direction while both "
        "send; residual: for messages of 256K or more\n";
    text += fmt::format("# {:>24}  {:>10}  {:>9}  {:>9}  {:>9}  {:>9}  {:>8}\n", "link", "latency",
                        "GB/s", "GB/s back", "GB/s both", "burst (B)", "residual");
    const auto name = [&](int host) { return at(network.hosts, host); };
    for (const HostLink& link : network.links)
        text +=
            fmt::format("  {:>24}  {:>10}  {:>9.4g}  {:>9.4g}  {:>9.4g}  {:>9}  {:>6.1f} %\n",
                        name(link.a) + " - " + name(link.b), time_text(link.latency_ns), link.gbps,
                        link.back_gbps, link.both_gbps, link.burst.count, 100 * link.residual);
    return text + fmt::format("  {:<54} {:.4g} GB/s\n",
                              "all ranks at once to the next host, each host and direction:",
                              network.all_gbps);
}

std::string least_times(const Limits& limits) {
    const int ranks = std::max(limits.cores, 2);
    std::string text =
        fmt::format("#\n# least time of all_reduce on {} ranks, out of place\n", ranks);
    text += fmt::format("# {:>12}  {:>13}  {:>13}  {:>13}\n", "bytes", "registered", "rewritten",
                        "unregistered");
    for (const std::int64_t bytes :
         {8L, 64L, 512L, 4L << 10, 32L << 10, 256L << 10, 1L << 20, 8L << 20, 64L << 20}) {
        const Call call{.count = bytes / 4};
        const auto least = [&](Reach reach, InputState input) {
            return time_text(least_time(limits, call, ranks, false, reach, input));
        };
        text += fmt::format("  {:>12}  {:>13}  {:>13}  {:>13}\n", to_string(Bytes{bytes}),
                            least(Reach::registered, InputState::untouched),
                            least(Reach::registered, InputState::rewritten),
                            least(Reach::unregistered, InputState::untouched));
    }
    return text;
}

// Formats "1.5" or "1.5 .. 2".
std::string range_text(const std::vector<double>& values, auto&& text) {
    const auto [least, most] = std::ranges::minmax(values);
    return least == most ? text(least) : text(least) + " .. " + text(most);
}

}  // namespace

std::string in_a_line(const HostNetwork& network) {
    std::vector<double> rates, latencies;
    for (int host = 0; host < static_cast<int>(network.hosts.size()); ++host) {
        rates.push_back(network.out_gbps(host));
        latencies.push_back(network.latency_ns(host));
    }
    return fmt::format(
        "network of {} hosts: {} GB/s out of each host, latency {} to the nearest host",
        network.hosts.size(),
        range_text(rates, [](double rate) { return fmt::format("{:.3g}", rate); }),
        range_text(latencies, time_text));
}

std::string limits_table(const Limits& limits, std::span<const std::string> notes) {
    std::string text;
    for (const std::string& note : notes) text += "# " + note + '\n';
    std::set<int> cores;
    for (const Curve& curve : limits.curves) cores.insert(curve.cores);
    for (const int active : cores) text += bandwidths(limits, active);
    text += latencies(limits) + streaming(limits) + least_times(limits);
    if (limits.network) text += between_hosts(*limits.network);
    return text + "#\n";
}

}  // namespace tutti
