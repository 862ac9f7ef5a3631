// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <span>
#include <string>

#include "results/records/step.hpp"

namespace tutti {

/// The table of a workload: a line for each method. Times in ms, medians. Each function returns
/// whole lines, newline included. `notes` come first, each as a comment ("# ...").
std::string step_table_header(std::span<const std::string> notes);

/// A line for each: its numbers, then the metrics of this workload in which the methods differ; or
/// a comment that says why it was skipped.
std::string step_table_rows(std::span<const TrainingStep> steps);

/// Metrics that are the same for all methods, wrong elements over all, the method that leaves least
/// exposed, and whether the next best differs from it significantly.
std::string step_table_footer(std::span<const TrainingStep> steps);

}  // namespace tutti
