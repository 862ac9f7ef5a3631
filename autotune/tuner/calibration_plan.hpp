// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <span>
#include <string>
#include <vector>

#include "autotune/model/cost_model.hpp"

namespace tutti {

/// One thing to measure in order to calibrate.
struct ModelProbe {
    Configuration configuration;
    ModelCall call;
};

/// What to measure so that every parameter is seen: schedules that differ in what they are made of
/// (signals, messages, copies, sums, results written to peers), each at sizes on both sides of
/// every switch of protocol. Ordered so that a call stands beside its rivals.
std::vector<ModelProbe> calibration_plan(const Placement& hosts,
                                         std::span<const std::string> transports,
                                         std::span<const BufferKind> kinds);

}  // namespace tutti
