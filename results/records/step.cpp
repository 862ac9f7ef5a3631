// SPDX-License-Identifier: Apache-2.0
#include "results/records/step.hpp"

#include <algorithm>
#include <cmath>

namespace tutti {

void derive(TrainingStep& step) {
    const auto ns = [](const Summary& summary) { return static_cast<double>(summary.p50); };
    step.overlap = ns(step.communication) > 0 ? 1 - ns(step.exposed) / ns(step.communication) : 1;
    step.slowdown = ns(step.compute) > 0 ? ns(step.computing) / ns(step.compute) : 1;
    step.bound_ns = std::max(ns(step.compute), ns(step.communication));
}

double half_width_of_exposed(const TrainingStep& step) {
    const double half = half_width(step.step);
    if (!std::isfinite(half)) return half;
    return static_cast<double>(step.exposed.ci95_hi - step.exposed.ci95_lo) / 2 /
           static_cast<double>(step.step.p50);
}

bool exposed_differs(const TrainingStep& one, const TrainingStep& other) {
    const auto is_known = [](const TrainingStep& step) {
        return std::isfinite(half_width(step.step));
    };
    return is_known(one) && is_known(other) &&
           (one.exposed.ci95_hi < other.exposed.ci95_lo ||
            other.exposed.ci95_hi < one.exposed.ci95_lo);
}

}  // namespace tutti
