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

/// How the planner of a launch differs from the default one.
struct PlannerSetup {
    std::optional<Fault> fault = {};
    std::optional<Bytes> stream_from = {};  ///< instead of what limits say
    unsigned runs_on_devices = 1;           ///< with one launch
};

/// What a launch measures with, on one rank. Collective to make: first the limits, with all cores
/// at hand; then ranks are pinned.
struct RunContext {
    RunContext(World& ranks, Reporter& voice, const RunOptions& options, const PlannerSetup& setup);

    World& world;
    Reporter& reporter;
    std::vector<std::string> limits_notes;
    std::optional<Limits> limits;  ///< of these hosts, to compare with
    FormerCpus unpinned;           ///< what this rank might run on before
    int ranks_on_core;             ///< by pinning; 0: none was done
    HostTuning tuning;
    Planner planner;
    Launch launch;
    GlobalClock clock;
    std::vector<std::string> notes;  ///< for the head of the table: where this runs

    /// The same with the command as typed behind the first one.
    std::vector<std::string> notes_with_command() const;
};

/// Does `work` with a reporter and a context for `run`, and records why it failed if it does.
/// Collective.
Exit in_context(World& world, const RunOptions& run, std::uint64_t seed, const PlannerSetup& setup,
                const std::function<Exit(RunContext&)>& work);

/// "all" is what works here, beside what is named; what does not is said once in `notes` instead of
/// in every row. Collective.
void leave_out_unusable(SearchSpace& search_space, Planner& planner,
                        std::vector<std::string>& notes);

/// Throws Error with the reasons where libraries are named and none of them is there at all.
/// Collective.
void expect_named_library(const SearchSpace& search_space, World& world);

/// Throws Error with the reasons where no transport and no library of the search_space works here.
/// Collective.
void expect_runner(const SearchSpace& search_space, Collective collective, Planner& planner);

/// Tells `named` of every candidate whether these ranks can run it at all. Collective.
void note_refusals(const SearchSpace& search_space, Collective collective, Planner& planner,
                   const Environment& environment, NamedWords& named);

/// Nodes, islands and orders, as asked for (0: as the ranks sit). Collective.
Environment environment_of(World& world, const std::vector<std::string>& orders, int ranks_per_node,
                           int ranks_per_island, std::vector<std::string>& notes);

}  // namespace tutti
