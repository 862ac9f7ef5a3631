// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "cli/options/run_plan.hpp"
#include "cli/ranks/launcher.hpp"
#include "results/records/launch.hpp"

namespace tutti {

class OptionGroup;

/// Options of every command that measures with ranks.
struct RunOptions {
    RunPlan plan;
    RankOptions ranks;
    bool pin = true;
    int launches = 1;                            ///< more than 1: started by this process
    std::string launcher = {};                   ///< command that starts the ranks of each launch
    std::string limits = "none";                 ///< see choose_limits
    std::string resume = {};                     ///< results file of an interrupted run, or empty
    std::optional<InterruptedRun> resumed = {};  ///< points and steps only on rank 0

    /// Returns true if this process starts launches instead of running as a rank.
    bool starts_launches() const { return launches > 1 || !launcher.empty(); }
    const std::string& results_file() const { return ranks.results_file; }
};

/// Reads --rendezvous, --rank and --size, which differ between ranks, makes this process that rank,
/// and returns the other arguments. Throws Error if the options do not describe a rank.
Arguments take_rank(const Arguments& arguments);
/// Adds -T and --start-timeout.
void add_timeout(const OptionGroup& group, RankOptions& ranks);
/// Adds --ranks with the help text `what`.
void add_threads(const OptionGroup& group, RankOptions& ranks, const std::string& what);
/// Adds --rendezvous, --rank and --size to help and completion; take_rank() reads them
/// earlier.
void add_rendezvous(const OptionGroup& group);
/// Adds --pin and -T; --ranks and --rendezvous under a heading of their own.
void add_rank_options(const OptionGroup& group, RunOptions& run);
/// Adds --limits; `what` describes their use.
void add_limits(const OptionGroup& group, RunOptions& run, const std::string& what);
/// Adds --launches and --launcher.
void add_launches(const OptionGroup& group, RunOptions& run);
/// Adds --json and --resume.
void add_results_file(const OptionGroup& group, RunOptions& run);
/// Sets the plan of `run` after parsing. With --resume, its file becomes the results file.
void set_plan(RunOptions& run, RunPlan plan);
/// With --resume, reads the interrupted run. Call when `run` is otherwise complete. Throws Error if
/// the run had other options; the options `free` may differ.
void resume_if_asked(RunOptions& run, std::span<const std::string_view> free = {});

}  // namespace tutti
