// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>
#include <span>

#include "autotune/model/cost_model.hpp"

namespace tutti {

/// How far a new model and a stored one are off, at times that neither was fitted to.
struct ModelComparison {
    std::size_t points = 0;   ///< that both predict; 0: they know nothing in common
    double new_error = 0;     ///< median of |predicted / measured - 1|
    double stored_error = 0;  ///< the same
    bool stored_is_better() const { return points > 0 && stored_error < new_error; }
};

/// Holds out one observation of five: a model that is fitted to the others stands for the new one.
ModelComparison compare_models(std::span<const Observation> observations,
                               const ModelledMachine& machine, const CostModel& stored);

}  // namespace tutti
