// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cli/options/commands.hpp"
#include "results/records/reader.hpp"

namespace CLI {
class App;
}

namespace tutti {

/// An option of a command line.
struct GivenOption {
    enum class Kind { option, flag, positional };
    std::string name;                 ///< without dashes: "minbytes"
    std::vector<std::string> values;  ///< in order; none for a flag that is set
    Kind kind = Kind::option;

    bool operator==(const GivenOption&) const = default;
};

/// A command with its options, as CLI11 parsed them. Launches, comparisons and resumed runs change
/// this value, and write it as the arguments of another process.
struct RunPlan {
    std::string command;             ///< "bench"
    std::vector<GivenOption> given;  ///< the options on the command line, in order
    TextByName values;               ///< every option with its value or default, for the records
    Arguments typed;                 ///< the arguments of the command, for the records

    bool has(std::string_view name) const;
    /// Replaces the values of an option.
    void set(const std::string& name, const std::string& value);
    void erase(std::span<const std::string_view> names);
    /// Returns the arguments of the command. CLI11 parses them to the same options.
    Arguments arguments() const;
};

/// Returns the plan after `app` has parsed `arguments`.
RunPlan plan_of(std::string command, const CLI::App& app, Arguments arguments);

/// Finds one option ("--json", or "-J,--output_file") in arguments that are not parsed otherwise.
/// Returns its value, or nothing.
std::optional<std::string> option_in(const Arguments& arguments, const std::string& name);

/// Arguments of a command, and another command that follows "--".
struct SplitArguments {
    Arguments own;
    std::optional<Arguments> other;  ///< nothing if there is no "--"
};
/// A "--" that is being completed does not count.
SplitArguments split_at_dashes(const Arguments& arguments);

/// A run in a results file that was interrupted and can be resumed.
struct InterruptedRun {
    Session session;                  ///< of the last part: a run may be resumed several times
    std::vector<Point> points;        ///< of all parts
    std::vector<TrainingStep> steps;  ///< of the last part
    std::vector<Pair> pairs;          ///< of all parts, in order
};

/// Returns the last run of `command` in the results file. Throws Error if there is none, or if it
/// is complete.
InterruptedRun interrupted_run(const std::string& file, const std::string& command);

/// Returns true if --resume was given, and otherwise only options for output files.
bool resumes_alone(const RunPlan& plan);

/// Returns the plan of the interrupted run in the file of --resume: its options without output
/// files, followed by those of `plan`. `parse` parses its arguments. Throws Error as
/// interrupted_run() does.
RunPlan plan_to_resume(const RunPlan& plan, const std::string& file,
                       const std::function<RunPlan(const Arguments&)>& parse);

/// Makes the file of --resume the results file of the plan.
void write_to_resumed_file(RunPlan& plan, const std::string& file);

/// Returns true if an option (name without dashes) affects the measurements. Options for output
/// files, formats and time limits of waits do not.
bool changes_measurements(const std::string& name);

/// Throws Error with the first option that differs, unless both plans ask for the same
/// measurements. The options `free` may differ.
void expect_same_plan(const TextByName& interrupted, const TextByName& typed,
                      std::span<const std::string_view> free = {});

}  // namespace tutti
