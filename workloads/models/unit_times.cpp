// SPDX-License-Identifier: Apache-2.0
#include "workloads/models/unit_times.hpp"

#include <fmt/format.h>

#include <cmath>

#include "base/error.hpp"

namespace tutti {

std::vector<UnitTimes> unit_times(const Model& model, std::int64_t compute_ns) {
    if (compute_ns < 0)
        throw Error(fmt::format("a step computes for 0 ns or longer; {} given", compute_ns));
    std::vector<double> flops(static_cast<std::size_t>(model.units()));
    for (const Parameter& parameter : model.parameters)
        flops[static_cast<std::size_t>(parameter.unit)] += parameter.forward_flops;
    const double all = model.forward_flops();
    const std::int64_t forward = compute_ns / 3, backward = compute_ns - forward;
    // Ends are rounded, not lengths, so that the lengths add up.
    double done = 0;
    std::int64_t forward_end = 0, backward_end = 0;
    std::vector<UnitTimes> times;
    for (std::size_t unit = 0; unit < flops.size(); ++unit) {
        done += flops[unit];
        const bool is_last = unit + 1 == flops.size();
        const double share = is_last || all <= 0 ? 1 : std::min(1.0, done / all);
        const auto until = [&](std::int64_t whole) {
            return is_last ? whole : std::llround(share * static_cast<double>(whole));
        };
        times.push_back({until(forward) - forward_end, until(backward) - backward_end});
        forward_end = until(forward);
        backward_end = until(backward);
    }
    return times;
}

}  // namespace tutti
