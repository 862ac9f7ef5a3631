// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <filesystem>
#include <iosfwd>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "results/records/record.hpp"

namespace tutti {

/// The records of a results file, each kind in the order of the file.
struct Results {
    std::vector<Session> sessions;
    std::vector<Launch> launches;
    std::vector<Point> points;
    std::vector<TrainingStep> steps;
    std::vector<Fail> fails;
    std::vector<End> ends;
    std::vector<Limits> limits;
    std::vector<Pair> pairs;
    std::vector<VerdictRecord> verdicts;
    std::vector<StepGrowth> step_growth;
    std::vector<PointOverLaunches> points_over_launches;
    std::vector<StepOverLaunches> steps_over_launches;
    std::vector<FloorRecord> floors;
    std::vector<Numerics> numerics;
    std::vector<LowerLimits> lower_limits;  // already applied to the points
    std::vector<std::string> warnings;      // one line each, to be shown to the user
};

/// All its lists of records, as a tuple of references.
auto lists_of(auto& results) {
    return std::tie(results.sessions, results.launches, results.points, results.steps,
                    results.fails, results.ends, results.limits, results.pairs, results.verdicts,
                    results.step_growth, results.points_over_launches, results.steps_over_launches,
                    results.floors, results.numerics, results.lower_limits);
}

/// Adds the records of another file or launch.
void append(Results& all, Results more);

/// Reads a file that a Store wrote, also after an editor changed its line ends or its encoding.
/// Partial steps that a later record replaces are left out, and points have the limits that a later
/// record gives them. A torn last line becomes a warning; everything else that is wrong throws
/// Error naming file and line: unreadable, empty, not JSON, another schema version.
Results read_results(const std::filesystem::path& path);

/// The same from a stream; `name` is how errors call it.
Results read_results(std::istream& stream, std::string_view name);

}  // namespace tutti
