// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <map>
#include <string>
#include <vector>

#include "results/comparison/printed_number.hpp"

namespace tutti {

/// A number that a program printed. If it cannot be compared, `value` is 0 and `trouble` is the
/// reason.
struct Reading : PrintedNumber {
    std::string trouble = {};
};

/// The metrics that one run printed.
struct PrintedMetrics {
    std::vector<std::string> order;
    std::map<std::string, Reading> readings;
    std::map<std::string, int> lines;            ///< number of readings of each name
    std::map<std::string, std::string> misused;  ///< --metric that found no number, and the error
    int long_lines = 0;                          ///< lines that are too long to be searched
};

/// Longest line in which metrics are searched, in bytes.
constexpr std::size_t longest_searched_line = 4096;

/// Finds the metrics in what a program wrote to stdout, and names that are not there in what it
/// wrote to stderr. Of a line that the program overwrote by carriage returns, the last match
/// counts. Throws Error for an invalid regular expression.
PrintedMetrics metrics_in(const std::string& output, const std::string& errors,
                          const std::vector<std::string>& metrics);

}  // namespace tutti
