// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <span>
#include <string>

#include "results/records/point.hpp"

namespace tutti {

/// Tells how much slower each candidate is next to each aggressor than alone: the geometric mean
/// over the sizes and the worst size, the least affected candidate first. Empty without aggressors.
std::string slowdown_table(std::span<const Point> points);

}  // namespace tutti
