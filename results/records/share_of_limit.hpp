// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <map>
#include <span>
#include <string>

#include "results/records/point.hpp"

namespace tutti {

/// Sets the least time that the machine allows for a measured point, and its share of the median.
void set_limit(Point& point, double least_ns);

/// Whether a point took less than its limit by more than its interval explains: then the limit is
/// too high a time, of a machine that was in a worse state.
bool beats_limit(const Point& point);

/// Returns lines with the number of points that beat their limit; empty if there are none.
std::string limit_line(std::span<const Point> points);

/// Lower bounds that were measured again because some points beat theirs. They replace those of
/// earlier points of the launch.
struct LowerLimits {
    std::string session;
    int launch = 1;
    std::map<std::string, double> limit_ns;  // by the point's id

    bool operator==(const LowerLimits&) const = default;
};

/// Replaces the limits of that launch's points.
void replace_limits(std::span<Point> points, const LowerLimits& lower);

}  // namespace tutti
