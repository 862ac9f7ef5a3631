// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <map>
#include <string>
#include <vector>

namespace tutti {

/// A number that a program printed. If it cannot be compared, `value` is 0 and `trouble` is the
/// reason.
struct Reading {
    double value = 0;
    std::string trouble = {};
};

/// The metrics that one run printed.
struct PrintedMetrics {
    std::vector<std::string> order;
    std::map<std::string, Reading> readings;
    std::map<std::string, int> lines;            ///< number of readings of each name
    std::map<std::string, std::string> misused;  ///< --metric that found no number, and the error
};

/// Finds the metrics in a program's output. Throws Error for an invalid regular expression.
PrintedMetrics metrics_in(const std::string& output, const std::vector<std::string>& metrics);

}  // namespace tutti
