// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <span>
#include <string>

#include "results/tables/text_table.hpp"

namespace tutti {

/// The candidate that stands for all in a table of one row a size: one with a wrong result, else
/// the fastest, else one that was skipped. `points` are those of one size and kind of buffers, at
/// least one.
TableRow row_of_fastest(std::span<const Point> points);

/// Why halves of the row were skipped, each as a comment; empty if none was.
std::string skips_of(const TableRow& row);

/// Null, or one that was measured.
inline const Point* measured_or_none(const Point* point) {
    return point != nullptr && !point->skipped ? point : nullptr;
}

}  // namespace tutti
