// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <span>
#include <string>

#include "results/point.hpp"

namespace tutti {

/// What one line of the table shows: a candidate at one size. Either pointer may be null, not both.
struct TableRow {
    const Point* out_of_place = nullptr;
    const Point* in_place = nullptr;
    SegmentInName segment = SegmentInName::left_out;
};

// The table that users of nccl-tests know, to the column; algorithm, transport, interval, sample
// count and share of the limit follow behind it, and with several hosts the bytes on the wire.
// Times are medians. Each function returns whole lines, newline included.

/// `notes` come first, each as a comment ("# ...").
std::string table_header(std::span<const std::string> notes, bool with_wire = false);

/// Two lines where something was skipped: the numbers, and a comment that says why.
std::string table_row(const TableRow& row, bool with_wire = false);

/// The sums that CI scripts grep for, over all points shown.
std::string table_footer(std::span<const Point> points);

}  // namespace tutti
