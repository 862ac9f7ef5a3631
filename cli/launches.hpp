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

/// One of the run.launches of the command and words that `run` was parsed from.
struct NextLaunch {
    int number = 1;
    std::uint64_t first_seed = 0;  ///< each has its own, so that candidates come in another order
    Arguments own;     ///< options, each with its value, in place of what was typed for them
    std::string kept;  ///< where those before it are, for an interruption: "in 'FILE'"
};

/// Runs it to its end, as processes of its own. Returns what it has said of wrong results, nothing
/// if there were none; throws Error, with its exit code, if it fails.
std::string run_launch(const RunOptions& run, const NextLaunch& launch);

/// Runs the command and words that `run` was parsed from as often as run.launches says, one after
/// the other, all into one results file: that of the words, else a temporary one. Returns the
/// records of these launches alone. Throws Error for the first launch that fails; those before it
/// are in the file.
Results run_launches(const RunOptions& run, std::uint64_t seed);

/// For the head of a table of several launches.
std::vector<std::string> notes_of_launches(const Tool& tool, std::span<const Launch> launches);

/// Adds what the launches have in common to the results file, under a session of this process; does
/// nothing where no file was named.
void keep_over_launches(const RunOptions& run, std::uint64_t seed,
                        std::vector<PointOverLaunches> points, bool is_wrong);
void keep_over_launches(const RunOptions& run, std::uint64_t seed,
                        std::vector<StepOverLaunches> steps, bool is_wrong);

}  // namespace tutti
