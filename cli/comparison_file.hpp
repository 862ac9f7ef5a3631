// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>
#include <vector>

#include "results/reader.hpp"
#include "results/views/views.hpp"

namespace tutti {

/// Appends the comparison to its file, if it has one. Throws Error.
void keep(const ComparisonRecords& records);

/// What each comparison said, in the order of the records.
std::vector<ComparisonRecords> comparisons_in(const Results& results);

/// What the file's last comparison said. Throws Error if it holds none.
ComparisonRecords stored_comparison(const std::string& file);

}  // namespace tutti
