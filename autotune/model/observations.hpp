// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <optional>
#include <span>
#include <vector>

#include "autotune/model/cost_model.hpp"
#include "results/point.hpp"

namespace tutti {

/// A measured point as the model sees it; nothing for what it has no say in: points that were
/// skipped, in place, of libraries' own collectives, or with an order or placement of their own.
std::optional<Observation> observation_of(const Point& point);

}  // namespace tutti
