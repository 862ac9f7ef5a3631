// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>

#include "cli/options/commands.hpp"
#include "cli/ranks/launcher.hpp"
#include "results/launch.hpp"

namespace tutti {

class OptionGroup;

/// What every command that times ranks is asked for.
struct RunOptions {
    std::string command;  ///< "bench"
    Arguments arguments;  ///< behind it, as typed
    RankOptions ranks;
    bool pin = true;
    std::string limits = "none";  ///< see choose_limits
    TextByName as_understood;     ///< every option with its value, for the record

    const std::string& results_file() const { return ranks.results_file; }
};

/// -T
void add_timeout(const OptionGroup& group, RankOptions& ranks);
/// --ranks, "without mpirun: so many threads"
void add_threads(const OptionGroup& group, RankOptions& ranks, const std::string& what);
/// --pin and -T; --ranks under a heading of its own.
void add_rank_options(const OptionGroup& group, RunOptions& run);
/// --limits; `what` they are for.
void add_limits(const OptionGroup& group, RunOptions& run, const std::string& what);
/// --json
void add_results_file(const OptionGroup& group, RunOptions& run);

}  // namespace tutti
