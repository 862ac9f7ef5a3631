// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <span>
#include <string>

#include "results/step.hpp"

namespace tutti {

/// The table of a workload: a line for each way. Times in ms, medians. Each function returns whole
/// lines, newline included. `notes` come first, each as a comment ("# ...").
std::string step_table_header(std::span<const std::string> notes);

/// A line for each: its numbers and, behind them, what only this workload tells and the ways differ
/// in; or a comment that says why it was skipped.
std::string step_table_rows(std::span<const TrainingStep> steps);

/// What this workload tells of all ways alike, wrong elements over all, the way that leaves least
/// exposed, and whether the next best is told apart from it.
std::string step_table_footer(std::span<const TrainingStep> steps);

}  // namespace tutti
