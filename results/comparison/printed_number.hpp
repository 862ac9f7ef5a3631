// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <optional>
#include <string>
#include <string_view>

namespace tutti {

/// A number of a program's output. Times of any unit are in ns, other numbers in their own unit.
struct PrintedNumber {
    double value = 0;
    std::string unit = {};  ///< "ns", "GB/s", "ops/s"; empty: none was printed
};

/// Reads the number that begins at `captured`, a part of `line`. A number that goes on after it is
/// read as a whole: 1,234.5 of which '1' was captured. The unit follows the number (5 ms) or stands
/// in brackets before it (time [ms]: 5). Returns none if `captured` holds anything else than a
/// number and a unit.
std::optional<PrintedNumber> printed_number_in(std::string_view line, std::string_view captured);

/// Returns the number with its unit, or none for an unknown unit.
std::optional<PrintedNumber> with_unit(double value, std::string_view unit);

/// Converts to another unit of the same kind (MB/s to GB/s). Returns none for different kinds.
std::optional<double> converted(const PrintedNumber& number, std::string_view unit);

}  // namespace tutti
