// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <optional>
#include <span>

#include "autotune/model/cost_model.hpp"
#include "results/records/point.hpp"

namespace tutti {

/// A measured point as the model sees it; nothing for what it has no say in: points that were
/// skipped, in place, of libraries' own collectives, or with an order or placement of their own.
std::optional<Observation> observation_of(const Point& point);

/// The model that explains measured times best: the critical path of each is a sum of parameters,
/// so they follow from non-negative least squares on relative errors; with them the paths change,
/// so this is repeated until they do not. Outliers count less. Observations of libraries' own
/// collectives are left out. Throws Error if none is left.
CostModel calibrate(std::span<const Observation> observations, const ModelledMachine& machine);

}  // namespace tutti
