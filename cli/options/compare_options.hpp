// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <optional>
#include <set>
#include <string>

#include "cli/compare/comparison.hpp"
#include "cli/compare/stored_baseline.hpp"
#include "cli/options/commands.hpp"
#include "cli/options/run_options.hpp"
#include "results/views/views.hpp"

namespace tutti {

/// What 'tutti compare' was asked for.
struct CompareOptions {
    RunOptions run;  ///< command, arguments and results file
    ComparisonPlan plan;
    LaunchBoth launch;
    std::optional<TwinJobs> attributed;  ///< --attribute: whose steps are told apart
    std::string a, b;                    ///< in words
    std::string what;                    ///< the words for both, or what both print
    std::set<Change> fail_on;            ///< also undecided
    std::string explained;               ///< a part of a metric's name; empty: none
    bool explains = false;
    std::vector<std::pair<const View*, std::string>>
        written;               ///< views and their files; "-": stdout
    std::string stored;        ///< --from: a results file instead of launches; empty: none
    bool times_are_ns = true;  ///< else numbers of programs
    std::optional<StoredBaseline> baseline;  ///< instead of launches of both
    std::vector<Floor> floors;               ///< that B is held against
    int ranks = 0;                           ///< of each job; 0: not known
    int launches_of_same = 0;                ///< --aa: A against itself, so many launches; 0: no
};

/// Nothing if help was asked for. Throws Error with what to type instead.
std::optional<CompareOptions> parse_compare(const Arguments& arguments);

}  // namespace tutti
