// SPDX-License-Identifier: Apache-2.0
#include "workloads/limits/link_fit.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "results/statistics.hpp"

namespace tutti {
namespace {

// Bursts are over by then, and libraries no longer change their ways; else what there is.
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

// GB/s of the best single message, behind its latency: less than the bandwidth where the times are
// right and no burst passes at once, never less than it where one does.
double most_seen(const Points& points, double latency_ns) {
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
    // Where the smaller of two sizes was disturbed, the slope specifies more than was ever seen.
    const double seen = most_seen(points, fit.latency_ns);
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

}  // namespace tutti
