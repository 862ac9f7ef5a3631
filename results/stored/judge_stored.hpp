// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <span>
#include <string>
#include <vector>

#include "results/comparison/judgement.hpp"

namespace tutti {

/// One metric, as launches of A and launches of B saw it that had nothing to do with each other:
/// natural logarithms of their medians.
struct StoredMetric {
    std::string name;
    std::vector<double> a, b;
};

/// Returns the difference that nine of ten pairs of values do not exceed; 0 for fewer than two.
double noise_between(std::span<const double> launches);

/// Judges launches that were not measured together. Their `noise` is the difference that nine of
/// ten pairs of launches of one side stay below; the larger one of both sides.
std::vector<Judgement> judge_stored(std::span<const StoredMetric> metrics, const Rule& rule);

}  // namespace tutti
