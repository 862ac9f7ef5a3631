// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace tutti {

/// A series of times in nanoseconds in a few numbers. Percentiles interpolate between
/// neighbours.
struct Summary {
    std::size_t n = 0;
    std::int64_t min = 0;
    std::int64_t p05 = 0;
    std::int64_t p25 = 0;
    std::int64_t p50 = 0;
    std::int64_t p75 = 0;
    std::int64_t p95 = 0;
    std::int64_t p99 = 0;
    std::int64_t max = 0;
    double mean = 0;
    double sd = 0;             // deviation of the samples (n - 1), not of the mean
    std::int64_t ci95_lo = 0;  // 95 % interval of the median, see summarise
    std::int64_t ci95_hi = 0;
    double rho1 = 0;         // lag-1 autocorrelation
    std::size_t n_slow = 0;  // samples above p75 + 3 (p75 - p25); counted, never deleted

    bool operator==(const Summary&) const = default;
};

/// Samples in the order of measuring (rho1 needs it). No samples give a Summary of zeros.
///
/// The interval of the median is made of two order statistics, so it assumes no distribution.
/// Successive samples resemble each other, which makes n of them worth less than n: the interval is
/// widened by sqrt((1 + rho1) / (1 - rho1)), held within 1 and 3.
Summary summarise(std::span<const std::int64_t> samples);

/// Returns half the interval of the median over the median: 0.025 is +-2.5 %. Infinite if only the
/// median is 0, and for 1 to 5 samples, which have no such interval.
double half_width(const Summary& summary);

/// How many leading samples still belong to the warm-up: the shortest prefix after which the median
/// of the next five is within 10 % of the second half's median; at most a fifth of all.
std::size_t warm_prefix(std::span<const std::int64_t> samples);

/// The value so far on the way from the smallest (0) to the largest (1). Of at least one.
std::int64_t quantile_of(std::span<const std::int64_t> values, double fraction);

/// The middle of the values in order of size, of two in the middle their mean. Of at least one.
double median(std::vector<double> values);
std::int64_t median(std::span<const std::int64_t> values);

/// Returns the mean of the middle half of the values (interquartile mean); the median of three. Of
/// at least one. Unlike the median it is not bound to the steps of a clock: where that ticks every
/// 10 ns, medians of 170 ns move by 10 ns or not at all.
double midmean(std::span<const std::int64_t> values);

/// The median slope of all pairs of points (Theil 1950, Sen 1968): up to 29 % of the points may lie
/// anywhere. Points of equal x make no pair; 0 if there is no pair at all.
double theil_sen_slope(std::span<const double> x, std::span<const double> y);

}  // namespace tutti
