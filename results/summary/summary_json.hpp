// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <iosfwd>
#include <map>
#include <string>

#include "results/records/reader.hpp"

namespace tutti {

/// The version of the document; grows when a field changes its meaning or goes.
inline constexpr int summary_version = 1;

/// Writes one JSON object with everything that tables, pages and figures of these results show:
/// the records without their samples, rankings with ratios, intervals and ties, training steps, and
/// how far the times can be trusted. docs/reference/results_file.md describes the fields.
/// `file_of` has the file of each session.
void write_summary(std::ostream& out, const Results& results,
                   const std::map<std::string, std::string>& file_of);

}  // namespace tutti
