// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>
#include <span>
#include <vector>

namespace tutti {

/// The centre of differences that lie symmetrically about it, and how well they tell it.
struct Shift {
    std::size_t n = 0;
    double estimate = 0;  ///< Hodges and Lehmann's: the median of the means of all pairs
    double low = 0;       ///< the interval, see shift_of
    double high = 0;
    double p = 1;  ///< of Wilcoxon's signed-rank test, two-sided: as likely were such, were it 0

    bool operator==(const Shift&) const = default;
};

/// Returns how many deviations a normal value exceeds, to either side, with this chance: 1.96 for
/// 0.05.
double two_sided_z(double chance);

/// Estimate (Hodges and Lehmann 1963) and interval of the centre, by the distribution of the
/// signed-rank statistic (Wilcoxon 1945; the interval as in Hollander, Wolfe and Chicken 2014,
/// section 3.3), which assumes no distribution but symmetry. Both are exact below 300 differences.
/// `confidence`: 0.98 for 98 %. Too few differences for it (fewer than 7 of 98 %) give an interval
/// from minus to plus infinity. No differences give a shift of n = 0.
Shift shift_of(std::span<const double> differences, double confidence);

/// Returns the estimate of shift_of alone: the median of the means of all pairs. At least one
/// difference is needed.
double centre_of(std::span<const double> differences);

/// The p-values so enlarged that each may be held against the level that is meant for all of them
/// together (Holm 1979). In the order of the argument.
std::vector<double> adjusted_by_holm(std::span<const double> p_values);

}  // namespace tutti
