// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <span>
#include <vector>

namespace tutti {

/// The median slope of all pairs of points (Theil 1950, Sen 1968): up to 29 % of the points may lie
/// anywhere. Points of equal x make no pair; 0 if there is no pair at all.
double theil_sen_slope(std::span<const double> x, std::span<const double> y);

}  // namespace tutti
