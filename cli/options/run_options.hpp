// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "cli/options/commands.hpp"
#include "cli/options/interrupted_run.hpp"
#include "cli/ranks/launcher.hpp"
#include "results/records/launch.hpp"

namespace tutti {

class OptionGroup;

/// What every command that times ranks is asked for.
struct RunOptions {
    std::string command;  ///< "bench"
    Arguments arguments;  ///< behind it, as typed
    RankOptions ranks;
    bool pin = true;
    int launches = 1;                            ///< more: started by this process
    std::string launcher = {};                   ///< words that start the ranks of each
    std::string limits = "none";                 ///< see choose_limits
    TextByName as_understood;                    ///< every option with its value, for the record
    std::optional<InterruptedRun> resumed = {};  ///< points and steps on rank 0 only

    /// By this process, instead of being one.
    bool starts_launches() const { return launches > 1 || !launcher.empty(); }
    const std::string& results_file() const { return ranks.results_file; }
};

/// -T
void add_timeout(const OptionGroup& group, RankOptions& ranks);
/// --ranks, "without mpirun: so many threads"
void add_threads(const OptionGroup& group, RankOptions& ranks, const std::string& what);
/// --rendezvous, --rank, --size, for the help and completion: take_rendezvous() takes them before.
void add_rendezvous(const OptionGroup& group);
/// --pin and -T; --ranks and --rendezvous under a heading of its own.
void add_rank_options(const OptionGroup& group, RunOptions& run);
/// --limits; `what` they are for.
void add_limits(const OptionGroup& group, RunOptions& run, const std::string& what);
/// --launches and --launcher
void add_launches(const OptionGroup& group, RunOptions& run);
/// --json and --resume; see take_resume for the latter.
void add_results_file(const OptionGroup& group, RunOptions& run);
/// Goes on with the interrupted run of the results file `resume` unless that is empty; `run` is
/// complete but for that. Throws Error if it was another plan; the options `free` may differ.
void resume_if_asked(const std::string& resume, RunOptions& run,
                     std::span<const std::string_view> free = {});

}  // namespace tutti
