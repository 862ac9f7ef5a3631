// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "results/records/point.hpp"

namespace tutti {

/// A line of the table: a candidate at one size. Either pointer may be null, not both.
struct TableRow {
    const Point* out_of_place = nullptr;
    const Point* in_place = nullptr;
    SegmentInName segment = SegmentInName::hidden;
};

/// The points as rows: both placements of a candidate at one size and kind of buffers together, in
/// the order in which candidates appear first.
std::vector<TableRow> rows_of(std::span<const Point> points);

/// The columns in addition to the standard ones.
struct TableColumns {
    bool wire = false;       ///< with several hosts
    bool energy = false;     ///< with meters of it
    bool predicted = false;  ///< with a cost model
};

/// Returns the columns for which at least one point has a value.
TableColumns columns_of(std::span<const Point> points);

// The table has exactly the columns of nccl-tests, then algorithm, transport, interval, sample
// count, share of the limit, and the columns selected by TableColumns. A prediction that is off by
// more than a factor of 2 has a mark. Times are medians. Each function returns whole lines,
// newline included.

/// `notes` come first, each as a comment ("# ...").
std::string table_header(std::span<const std::string> notes, TableColumns columns = {});

/// Returns one line, or two if something was skipped: the numbers, and a comment with the reason.
std::string table_row(const TableRow& row, TableColumns columns = {});

// The columns of nccl-tests alone.

/// size, count, type, redop, root
std::string key_cells(const Key& key);
/// time, algbw, busbw, #wrong; N/A where there is no point, or none that was measured.
std::string placement_cells(const Point* point);

/// The totals of the last lines.
struct TableTotals {
    std::int64_t wrong = 0;
    bool is_right = true;
    double busbw = 0;  ///< the mean
};
TableTotals totals_of(std::span<const Point> points);
/// Two lines, the last one open at its end.
std::string totals_in_words(const TableTotals& totals);

/// The sums that CI scripts grep for, over all points shown.
std::string table_footer(std::span<const Point> points);

}  // namespace tutti
