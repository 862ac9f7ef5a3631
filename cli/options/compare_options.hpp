// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <optional>
#include <set>
#include <string>

#include "cli/compare/launches.hpp"
#include "cli/options/commands.hpp"
#include "cli/options/run_options.hpp"
#include "results/comparison/staged_comparison.hpp"
#include "results/views/views.hpp"

namespace tutti {

/// The options of 'tutti compare'.
struct CompareOptions {
    RunOptions run;  ///< command, arguments and results file
    ComparisonPlan plan;
    LaunchBoth launch;
    std::optional<TwinJobs> attributed;  ///< --attribute: the jobs whose steps are compared
    std::string a, b;                    ///< descriptions for the output
    std::string what;                    ///< the command of both, or the metrics
    std::set<Change> fail_on;            ///< verdicts that fail the comparison
    std::string explained;               ///< --explain: part of a metric's name; empty: all
    bool explains = false;
    std::vector<std::pair<const View*, std::string>>
        written;  ///< views and their files; "-" is stdout
    std::string
        stored;  ///< --from: a results file that is shown instead of launching; may be empty
    bool times_are_ns = true;                ///< false: numbers printed by programs
    std::optional<StoredBaseline> baseline;  ///< instead of launching A and B
    std::vector<Floor> floors;               ///< requirements for B
    int ranks = 0;                           ///< per job; 0: unknown
    int launches_of_same = 0;  ///< --aa: number of launches of A against itself; 0: off
};

/// Returns nothing if help was printed. Throws Error.
std::optional<CompareOptions> parse_compare(const Arguments& arguments);

}  // namespace tutti
