// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <limits>
#include <span>
#include <utility>
#include <vector>

#include "results/statistics/statistics.hpp"

namespace tutti {

/// The natural logarithm of a time or of a ratio, and the variance of its error. How few launches
/// the variance is known from is kept as degrees of freedom (Welch 1947, Biometrika 34).
struct LogEstimate {
    double log = 0;
    double variance = 0;
    double freedom = std::numeric_limits<double>::infinity();

    double value() const;
    /// Returns the 95 % interval.
    std::pair<double, double> interval() const;
    /// Returns the probability of so large an estimate if the truth is not above the limit; twice,
    /// as an interval has two sides.
    double chance_within(double limit) const;

    bool operator==(const LogEstimate&) const = default;
};

/// A median in ns with its 95 % interval, which is unknown for fewer than six samples. Whole ns are
/// rounded, and no call takes less than one.
LogEstimate estimate_of(const Summary& time);

/// Returns the mean of several launches. They differ by no less than the error of each of them.
LogEstimate mean_over_launches(std::span<const LogEstimate> launches);

/// Returns the sum of the parts, each as often as its factor says.
LogEstimate total(std::span<const std::pair<double, LogEstimate>> parts);

LogEstimate ratio(const LogEstimate& above, const LogEstimate& below);

/// Returns the probability that Student's t is at least so far from zero, on either side.
double two_tails(double t, double freedom);

/// Returns the t that 97.5 % are below.
double student_975(double freedom);

}  // namespace tutti
