// SPDX-License-Identifier: Apache-2.0
#include "results/step.hpp"

#include <algorithm>

namespace tutti {

void derive(TrainingStep& step) {
    const auto ns = [](const Summary& summary) { return static_cast<double>(summary.p50); };
    step.overlap = ns(step.communication) > 0 ? 1 - ns(step.exposed) / ns(step.communication) : 1;
    step.slowdown = ns(step.compute) > 0 ? ns(step.computing) / ns(step.compute) : 1;
    step.bound_ns = std::max(ns(step.compute), ns(step.communication));
}

}  // namespace tutti
