// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tutti {

/// A number of a program's output. Times of any unit are in ns, other numbers in their own unit.
struct PrintedNumber {
    double value = 0;
    std::string unit = {};  ///< "ns", "GB/s", "ops/s"; empty: none was printed
};

/// Reads the number that begins at `captured`, a part of `line`. A number that goes on after it is
/// read as a whole: 1,234.5 of which '1' was captured. The unit follows the number (5 ms) or stands
/// in brackets before it (time [ms]: 5). Durations such as 1m5.25s are times, and 1.5k is 1500.
/// Returns none if `captured` holds anything else, or the number may have a decimal comma.
std::optional<PrintedNumber> printed_number_in(std::string_view line, std::string_view captured);

/// Returns whether the text begins with a number such as "5,2 ms" or "1 234,5".
bool has_decimal_comma(std::string_view text);

/// Returns the number with its unit, or none for an unknown unit.
std::optional<PrintedNumber> with_unit(double value, std::string_view unit);

/// Returns whether the unit counts something per second: GB/s, images/s, FLOPS.
bool is_rate(std::string_view unit);

/// Converts to another unit of the same kind (MB/s to GB/s). Returns none for different kinds.
std::optional<double> converted(const PrintedNumber& number, std::string_view unit);

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
