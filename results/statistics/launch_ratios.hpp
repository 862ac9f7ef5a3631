// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <span>

namespace tutti {

/// A logarithm of a ratio and its 95 % interval; infinite ends where that is unknown.
struct LogInterval {
    double middle = 0;
    double low = 0;
    double high = 0;
};

/// What launches say of a ratio, one logarithm of each (two at least). Candidates alternate within
/// a launch, so what makes all of one slower is in none of these. Of two to five: their mean and
/// Student's t; from six on the median and order statistics, which assume no distribution. The page
/// of `tutti report` tells the same.
LogInterval over_launches(std::span<const double> logs);

}  // namespace tutti
