// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>
#include <optional>
#include <span>

#include "autotune/model/cost_model.hpp"
#include "results/records/point.hpp"

namespace tutti {

/// Converts a measured point for the model. Returns nothing for points that it does not cover:
/// skipped, in place, of libraries' own collectives, or with another order or placement.
std::optional<Observation> observation_of(const Point& point);

/// Fits the model to measured times. The critical path of each time is a sum of parameters, so
/// non-negative least squares on relative errors give the parameters. They change the paths, so
/// this is repeated until paths are stable. Outliers count less. Ignores libraries' own
/// collectives. Throws Error if no observation is left.
CostModel calibrate(std::span<const Observation> observations, const ModelledMachine& machine);

/// Errors of a new model and a stored one at times that neither was fitted to.
struct ModelComparison {
    std::size_t points = 0;   ///< number of times that both predict; 0: there are none
    double new_error = 0;     ///< median of |predicted / measured - 1|
    double stored_error = 0;  ///< the same
    bool stored_is_better() const { return points > 0 && stored_error < new_error; }
};

/// Holds out one observation of five, fits a model to the rest, and compares it with the stored
/// one.
ModelComparison compare_models(std::span<const Observation> observations,
                               const ModelledMachine& machine, const CostModel& stored);

}  // namespace tutti
