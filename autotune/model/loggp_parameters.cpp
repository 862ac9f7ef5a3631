// SPDX-License-Identifier: Apache-2.0
#include "autotune/model/loggp_parameters.hpp"

#include <algorithm>
#include <cmath>

namespace tutti {

CurvePlace place_on(const double* points, std::size_t count, double size) {
    if (size <= points[0]) return {0, 0};
    if (size >= points[count - 1]) return {count - 2, 1};
    const double* above = std::upper_bound(points, points + count, size);
    const double below = above[-1];
    return {static_cast<std::size_t>(above - points) - 1,
            std::log(size / below) / std::log(*above / below)};
}

LogGpParameters LogGpParameters::uniform(double step, double message, double copy, double reduce) {
    LogGpParameters parameters;
    parameters.ns[LogGpParameters::step] = step;
    const auto fill = [&](std::size_t first, std::size_t count, double value) {
        std::fill_n(parameters.ns.begin() + static_cast<std::ptrdiff_t>(first), count, value);
    };
    fill(LogGpParameters::message, message_points.size(), message);
    fill(begin_of(PerByte::copy), footprint_points.size(), copy);
    fill(begin_of(PerByte::reduce), footprint_points.size(), reduce);
    fill(begin_of(PerByte::add), footprint_points.size(), reduce);
    return parameters;
}

}  // namespace tutti
