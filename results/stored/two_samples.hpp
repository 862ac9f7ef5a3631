// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>
#include <span>

#include "results/statistics/signed_rank.hpp"

namespace tutti {

/// How far `b` lies above `a`, two series of independent values with nothing in common: the median
/// of all differences (Hodges and Lehmann 1963), its interval and the p-value of the test of Mann
/// and Whitney (1947), both by the exact distribution of the rank sum, ties included; beyond 50
/// values in all by its normal limit. Nothing is assumed but that both are spread alike. Too few
/// values give an interval from minus to plus infinity; `n` is that of the shorter series.
Shift shift_between(std::span<const double> a, std::span<const double> b, double confidence);

/// The fewest values of each series that can give a p-value of so little.
int least_of_each(double p);

}  // namespace tutti
