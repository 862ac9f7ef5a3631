// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>

#include "results/records/reader.hpp"

namespace tutti {

/// Returns the rankings of sweeps and training steps, and the verdicts of comparisons, as tables of
/// Markdown. The numbers are those of write_summary. Throws Error if nothing was measured.
std::string markdown_tables(const Results& results);

}  // namespace tutti
