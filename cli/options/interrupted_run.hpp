// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cli/options/commands.hpp"
#include "results/records/reader.hpp"

namespace tutti {

/// A run of a results file that was cut short, to go on with.
struct InterruptedRun {
    Session session;                  ///< of the last part, as runs may be resumed repeatedly
    std::vector<Point> points;        ///< of all parts
    std::vector<TrainingStep> steps;  ///< of the last part
    std::vector<Pair> pairs;          ///< of all parts, the first part's first
};

/// The last run of `command` in the results file. Throws Error if there is none, or if it came to
/// its end.
InterruptedRun interrupted_run(const std::string& file, const std::string& command);

/// Takes --resume FILE out of what was typed behind `command`, and lets the records be appended to
/// that file. Where nothing else was typed, the rest is as the interrupted run had it, but for a
/// comparison, whose words may be any program's. Returns the file; empty without --resume. Throws
/// Error as interrupted_run() does.
std::string take_resume(const std::string& command, Arguments& arguments);

/// Whether an option, by its name without dashes, is about what is measured: where records go, how
/// they are printed and how long ranks wait is not.
bool changes_measurements(const std::string& name);

/// Throws Error, naming the first option that differs, unless both plans ask for the same
/// measurements; the options `free` may differ.
void expect_same_plan(const TextByName& interrupted, const TextByName& typed,
                      std::span<const std::string_view> free = {});

}  // namespace tutti
