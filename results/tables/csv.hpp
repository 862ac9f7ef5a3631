// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <iosfwd>

#include "results/records/reader.hpp"

namespace tutti {

/// Writes the points of results as a table for spreadsheets: RFC 4180 with a header, one row for
/// each point. Results without points give their training steps, and without these the verdicts of
/// comparisons. docs/reference/results_file.md describes the columns. Throws Error for results of
/// several kinds, which have other columns.
void write_csv(std::ostream& out, const Results& results);

}  // namespace tutti
