// SPDX-License-Identifier: Apache-2.0
#include "workloads/models/compute_times.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/error.hpp"
#include "base/index.hpp"

namespace tutti {

ComputeTimes step_times_by_formula(const Model& model, std::int64_t compute_ns) {
    if (compute_ns < 0)
        throw Error(
            fmt::format("the computing time of a step must be at least 0 ns, not {}", compute_ns));
    ComputeTimes times;
    times.forward_ns = compute_ns / 3;
    times.backward_ns = compute_ns - times.forward_ns;
    const double all = model.forward_flops();
    double done = 0;
    for (const int parameter : model.ready_order) {
        done += model.parameters[parameter].forward_flops;
        const double share = all > 0 ? std::min(done / all, 1.0) : 1.0;
        times.ready_ns.push_back(std::llround(share * static_cast<double>(times.backward_ns)));
    }
    return times;
}

ComputeTimes step_times_of_trace(std::size_t parameters, std::span<const std::int64_t> ready_ns,
                                 std::int64_t forward_ns, std::int64_t backward_ns) {
    if (ready_ns.size() != parameters)
        throw Error(fmt::format("{} ready times for {} parameters: a trace has one for each",
                                ready_ns.size(), parameters));
    const bool negative =
        std::any_of(ready_ns.begin(), ready_ns.end(), [](std::int64_t ready) { return ready < 0; });
    if (negative || forward_ns < 0 || backward_ns < 0)
        throw Error("the trace has negative times; they must count from the start of the pass");
    ComputeTimes times{forward_ns, backward_ns, {}};
    std::int64_t latest = 0;
    for (const auto ready : ready_ns) {
        latest = std::max(latest, ready);
        times.ready_ns.push_back(latest);
    }
    times.backward_ns = std::max(backward_ns, latest);
    return times;
}

std::vector<UnitTimes> unit_times(const Model& model, std::int64_t compute_ns) {
    if (compute_ns < 0)
        throw Error(
            fmt::format("the computing time of a step must be at least 0 ns, not {}", compute_ns));
    std::vector<double> flops(as_size(model.units()));
    for (const Parameter& parameter : model.parameters)
        at(flops, parameter.unit) += parameter.forward_flops;
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
