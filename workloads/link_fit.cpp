// SPDX-License-Identifier: Apache-2.0
#include "workloads/link_fit.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "results/line_fit.hpp"

namespace tutti {
namespace {

constexpr std::int64_t large = 64 << 10, small = 1 << 10;

double ns_per_byte(std::span<const MessageTime> times, std::int64_t from) {
    std::vector<double> x, y;
    for (const MessageTime& time : times) {
        if (time.bytes < from) continue;
        x.push_back(static_cast<double>(time.bytes));
        y.push_back(time.ns);
    }
    return theil_sen_slope(x, y);
}

}  // namespace

LinkFit fit_link(std::span<const MessageTime> times) {
    LinkFit fit;
    if (times.empty()) return fit;
    double slope = ns_per_byte(times, large);
    if (slope <= 0) slope = ns_per_byte(times, 0);
    slope = std::max(slope, 0.0);
    fit.gbps = slope > 0 ? 1 / slope : 0;
    const auto start_of = [&](const MessageTime& time) {
        return std::max(time.ns - slope * static_cast<double>(time.bytes), 0.0);
    };
    fit.latency_ns = start_of(times.front());
    for (const MessageTime& time : times)
        if (time.bytes <= small) fit.latency_ns = std::min(fit.latency_ns, start_of(time));
    std::vector<double> distances;
    for (const MessageTime& time : times)
        if (time.ns > 0)
            distances.push_back(std::abs(start_of(time) - fit.latency_ns) / time.ns);
    if (!distances.empty()) fit.residual = median(std::move(distances));
    return fit;
}

}  // namespace tutti
