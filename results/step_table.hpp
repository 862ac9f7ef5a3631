// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <span>
#include <string>

#include "results/step.hpp"

namespace tutti {

/// The table of a workload: a line for each way. Times in ms, medians. Each function returns whole
/// lines, newline included. `notes` come first, each as a comment ("# ...").
std::string step_table_header(std::span<const std::string> notes);

/// Its numbers, what only this workload tells behind them; or a comment that says why it was
/// skipped.
std::string step_table_row(const TrainingStep& step);

/// Wrong elements over all, and the ways by how much they leave exposed.
std::string step_table_footer(std::span<const TrainingStep> steps);

}  // namespace tutti
