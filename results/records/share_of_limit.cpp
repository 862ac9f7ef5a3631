// SPDX-License-Identifier: Apache-2.0
#include "results/records/share_of_limit.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/rounding.hpp"

namespace tutti {

void set_limit(Point& point, double least_ns) {
    const double limit_ns = to_tenths(least_ns);
    point.limit_ns = limit_ns;
    if (point.time.p50 > 0)
        point.pct_of_limit = to_tenths(100 * limit_ns / static_cast<double>(point.time.p50));
}

bool beats_limit(const Point& point) {
    return !point.skipped && point.limit_ns &&
           *point.limit_ns > static_cast<double>(point.time.ci95_hi);
}

std::string limit_line(std::span<const Point> points) {
    std::size_t limited = 0, beaten = 0;
    double most = 0;
    for (const Point& point : points) {
        if (!point.skipped && point.limit_ns) ++limited;
        if (!beats_limit(point)) continue;
        ++beaten;
        most = std::max(most, point.pct_of_limit.value_or(0));
    }
    if (beaten == 0) return "";
    return fmt::format(
        "# Limits               : {} of {} points took less than theirs (!), which is up to {:.0f} "
        "% of the time: limits too high\n",
        beaten, limited, most);
}

void replace_limits(std::span<Point> points, const LowerLimits& lower) {
    for (Point& point : points) {
        if (point.session != lower.session || point.launch != lower.launch || point.skipped)
            continue;
        const auto found = lower.limit_ns.find(point_id(point.key));
        if (found != lower.limit_ns.end()) set_limit(point, found->second);
    }
}

}  // namespace tutti
