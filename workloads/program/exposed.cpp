// SPDX-License-Identifier: Apache-2.0
#include "workloads/program/exposed.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>

#include "base/error.hpp"

namespace tutti {

Channel parse_channel(std::string_view text) {
    const auto refuse = [&] {
        return Error(fmt::format("'{}' is no network; type for example 100us+1.25GB/s", text));
    };
    const std::size_t plus = text.find('+');
    constexpr std::string_view unit = "GB/s";
    if (plus == text.npos || !text.ends_with(unit)) throw refuse();
    const std::string_view speed = text.substr(plus + 1, text.size() - plus - 1 - unit.size());
    double bandwidth_GBps = 0, seconds = 0;
    const auto [stop, error] =
        std::from_chars(speed.data(), speed.data() + speed.size(), bandwidth_GBps);
    try {
        seconds = parse_seconds(text.substr(0, plus));
    } catch (const Error&) {
        throw refuse();
    }
    if (error != std::errc() || stop != speed.data() + speed.size() || !(bandwidth_GBps > 0) ||
        bandwidth_GBps > 1e9 || seconds < 0)
        throw refuse();
    return {.latency_ns = std::round(seconds * 1e9), .ns_per_byte = 1 / bandwidth_GBps};
}

Channel channel_through(Bytes small, double small_ns, Bytes large, double large_ns) {
    const double ns_per_byte =
        std::max(0.0, (large_ns - small_ns) / static_cast<double>(large.count - small.count));
    const double latency = small_ns - ns_per_byte * static_cast<double>(small.count);
    return {.latency_ns = std::max(0.0, latency), .ns_per_byte = ns_per_byte};
}

double exposed_ns(std::span<const TimedMessage> messages, std::int64_t end_ns,
                  const Channel& channel) {
    double free_at = 0;
    for (const TimedMessage& one : messages)
        free_at = std::max(free_at, static_cast<double>(one.ready_ns)) + channel.ns_of(one.bytes);
    return std::max(0.0, free_at - static_cast<double>(end_ns));
}

}  // namespace tutti
