// SPDX-License-Identifier: Apache-2.0
#include "autotune/model/model_comparison.hpp"

#include <cmath>
#include <random>
#include <vector>

#include "autotune/model/calibrate.hpp"
#include "results/statistics/statistics.hpp"

namespace tutti {

ModelComparison compare_models(std::span<const Observation> observations,
                               const ModelledMachine& machine, const CostModel& stored) {
    std::vector<Observation> fitted, held_out;
    std::minstd_rand numbers;  // observations come in an order, the same row of algorithms again
    for (const Observation& one : observations)
        (numbers() % 5 == 0 ? held_out : fitted).push_back(one);
    if (fitted.empty()) return {};
    const CostModel calibrated = calibrate(fitted, machine);
    std::vector<double> errors, errors_of_stored;
    for (const Observation& one : held_out) {
        const auto predicted = calibrated.predict(one.configuration, one.call);
        const auto by_stored = stored.predict(one.configuration, one.call);
        if (!predicted || !by_stored || one.time_ns <= 0) continue;
        errors.push_back(std::abs(*predicted / one.time_ns - 1));
        errors_of_stored.push_back(std::abs(*by_stored / one.time_ns - 1));
    }
    if (errors.empty()) return {};
    return {.points = errors.size(),
            .new_error = median(errors),
            .stored_error = median(errors_of_stored)};
}

}  // namespace tutti
