// SPDX-License-Identifier: Apache-2.0
#include "cli/forms/one_row.hpp"

#include <algorithm>
#include <utility>

namespace tutti {
namespace {

// What is shown comes first: wrong results, then times in order, then what was skipped.
std::pair<int, double> rank_of(const TableRow& row) {
    const Point* out = measured_or_none(row.out_of_place);
    const Point* in = measured_or_none(row.in_place);
    if ((out != nullptr && is_wrong(*out)) || (in != nullptr && is_wrong(*in))) return {0, 0};
    const Point* timed = out != nullptr ? out : in;
    if (timed == nullptr) return {2, 0};
    return {1, static_cast<double>(timed->time.p50)};
}

}  // namespace

TableRow row_of_fastest(std::span<const Point> points) {
    const std::vector<TableRow> rows = rows_of(points);
    return *std::ranges::min_element(rows, {}, rank_of);
}

std::string skips_of(const TableRow& row) {
    const bool out = row.out_of_place != nullptr && row.out_of_place->skipped;
    const bool in = row.in_place != nullptr && row.in_place->skipped;
    return !out && !in ? ""
                       : table_row({.out_of_place = out ? row.out_of_place : nullptr,
                                    .in_place = in ? row.in_place : nullptr});
}

}  // namespace tutti
