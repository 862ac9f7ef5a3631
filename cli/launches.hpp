// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "cli/options/run_options.hpp"
#include "results/reader.hpp"

namespace tutti {

/// Runs the command and words that `run` was parsed from as often as run.launches says, one after
/// the other, each as processes of its own and with a seed of its own (so that candidates come in
/// another order), all into one results file: that of the words, else a temporary one. Returns the
/// records of these launches alone. Throws Error, with its exit code, for the first launch that
/// fails; those before it are in the file.
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
