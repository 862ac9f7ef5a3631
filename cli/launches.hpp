// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "cli/options/run_options.hpp"
#include "results/records/reader.hpp"

namespace tutti {

/// Throws Error unless launches can be started here as `run` says.
void expect_launches(const RunOptions& run);

/// One of the launches of a command.
struct NextLaunch {
    int number = 1;
    std::uint64_t first_seed =
        0;             ///< each launch has its own seed, and so its own order of candidates
    TextByName own;    ///< options that replace those on the command line
    std::string kept;  ///< where earlier launches are stored, for interruptions: "in 'FILE'"
};

/// Runs a launch in new processes until it ends. Returns its message about wrong results, or an
/// empty text. Throws Error, with its exit code, if it fails.
std::string run_launch(const RunOptions& run, const NextLaunch& launch);

/// Runs the command of `run` run.launches times, one after the other, all into its results file or
/// a temporary one. Returns the records of these launches. Throws Error for the first launch that
/// fails; earlier launches stay in the file.
Results run_launches(const RunOptions& run, std::uint64_t seed);

/// Returns the notes above a table of several launches.
std::vector<std::string> notes_of_launches(const Tool& tool, std::span<const Launch> launches);

/// Appends the combined results of the launches to the results file, in a session of this process.
/// Does nothing without a file.
void keep_over_launches(const RunOptions& run, std::uint64_t seed,
                        std::vector<PointOverLaunches> points, bool is_wrong);
void keep_over_launches(const RunOptions& run, std::uint64_t seed,
                        std::vector<StepOverLaunches> steps, bool is_wrong);

}  // namespace tutti
