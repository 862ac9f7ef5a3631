// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "cli/options/named_words.hpp"
#include "cli/options/run_options.hpp"
#include "cli/reporter.hpp"
#include "collectives/planner/planner.hpp"
#include "results/records/limits.hpp"
#include "workloads/bench/candidates.hpp"
#include "workloads/timing/global_clock.hpp"
#include "workloads/timing/pinning.hpp"

namespace tutti {

/// Settings of a launch's planner that differ from the defaults.
struct PlannerSetup {
    std::optional<Fault> fault = {};
    std::optional<Bytes> stream_from = {};  ///< empty: as measured
    unsigned runs_on_devices = 1;           ///< calls per device launch
};

/// Everything a rank needs to measure. Its construction is collective: it gets the limits with all
/// cores available, then pins the ranks.
struct RunContext {
    RunContext(World& ranks, Reporter& voice, const RunOptions& options, const PlannerSetup& setup);

    World& world;
    Reporter& reporter;
    std::vector<std::string> limits_notes;
    std::optional<Limits> limits;  ///< limits of these hosts
    FormerCpus unpinned;           ///< CPUs of this rank before pinning
    int ranks_on_core;             ///< ranks per core after pinning; 0: not pinned
    HostTuning tuning;
    Planner planner;
    Launch launch;
    GlobalClock clock;
    std::vector<std::string> notes;  ///< lines for the head of the table about hosts and libraries

    /// Returns the notes with the command line after the first one.
    std::vector<std::string> notes_with_command() const;
};

/// Runs `work` with a reporter and a context for `run`, and records errors. Collective.
Exit in_context(World& world, const RunOptions& run, std::uint64_t seed, const PlannerSetup& setup,
                const std::function<Exit(RunContext&)>& work);

/// Replaces "all" by what works here. Missing transports and libraries get one line in `notes`
/// instead of one per row. Collective.
void leave_out_unusable(SearchSpace& search_space, Planner& planner,
                        std::vector<std::string>& notes);

/// Throws Error with the reasons if libraries are named and all of them are missing. Collective.
void expect_named_library(const SearchSpace& search_space, World& world);

/// Throws Error with the reasons if no transport and no library of the search space works here.
/// Collective.
void expect_runner(const SearchSpace& search_space, Collective collective, Planner& planner);

/// Records in `named` for every candidate whether these ranks can run it. Collective.
void note_refusals(const SearchSpace& search_space, Collective collective, Planner& planner,
                   const Environment& environment, NamedWords& named);

/// Returns nodes, islands and orders as requested (0: as detected). Collective.
Environment environment_of(World& world, const std::vector<std::string>& orders, int ranks_per_node,
                           int ranks_per_island, std::vector<std::string>& notes);

}  // namespace tutti
