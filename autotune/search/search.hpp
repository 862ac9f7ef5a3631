// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <vector>

#include "autotune/search/evaluator.hpp"

namespace tutti {

/// The samples of one arm at one size.
struct Evidence {
    int arm = 0;
    std::vector<double> samples_ns;
    /// The arm's time over the winner's as the search estimates it with the help of neighbouring
    /// sizes; none if only the samples are known.
    std::optional<double> ratio = std::nullopt;
};

/// The result of a search at one size.
struct Finding {
    Bytes size;
    int winner = -1;        ///< arm; -1: nothing can run, or nothing was measured anywhere
    bool measured = false;  ///< else copied from its neighbours
    /// Expected loss of the choice as a share of its time, because noise may hide a better one.
    double doubt = 0;
    std::vector<Evidence> entries;  ///< all arms that raced here, the winner first, then by time
};

/// Reported after each race.
struct SearchProgress {
    double share = 0;  ///< of the work, from 0 to 1
    Bytes size;        ///< where the race was
    int winner = -1;   ///< arm that leads there now
};

struct SearchOptions {
    /// Winners of neighbouring sizes are merged if that costs less than this share.
    double hysteresis = 0.03;

    /// Calls of each arm in the first race at a size: two survive one outlier. The refining pass
    /// decides the rest, as it knows at which sizes more samples pay. A second round here would
    /// take most samples of a search with few arms.
    int first_repetitions = 2;

    /// Arms stay inside a bracket if interpolation puts them within 1 + this * (octaves between the
    /// measured sizes) of the best: 1.4 between neighbours, 2.6 over a range of 256, where lines
    /// between two points are inaccurate.
    double bracket_slack_per_octave = 0.2;

    /// A size between two others with the same winner is not measured if it leads by this share at
    /// both.
    double clear_lead = 0.15;

    /// The model never drops an arm that it puts within this factor of the best. It drops none at
    /// all if its logarithmic error at the anchors is larger than model_error.
    double model_factor = 4;
    double model_error = 0.45;

    /// Where measurements correct the model, it drops arms that it puts beyond this factor and
    /// beyond its error: a family by its times at both ends of a bracket, a neighbour on a scale by
    /// the member measured next to it.
    double model_slack = 1.3;

    /// After the first pass the remaining time goes to the sizes with the largest doubt, until each
    /// choice is expected to lose less than `doubt`, or its rivals have `finalist_samples` each.
    double doubt = 0.002;
    int finalist_samples = 20;
    /// That pass ends when the search has spent these shares of the cost of 20 repetitions of all
    /// arms at all sizes.
    double sample_share = 0.09;
    double time_share = 0.15;

    std::function<void(const SearchProgress&)> progress;
};

/// Finds the best arm for each of the sizes (ascending) with few races: all families at the
/// smallest and the largest size, then bisection in the logarithm of the size where winners differ
/// (Hunold et al. 2018; ACCLAiM 2022; AutoCCL 2025 for the descent over parameters). A variant is
/// dropped between two sizes where it lost at both, or by a model that was right so far. The same
/// samples give the same search. Ends early if the evaluator is over; what is known then is used.
std::vector<Finding> search(Evaluator& evaluator, std::span<const Bytes> sizes,
                            const SearchOptions& options);

/// Races every arm at every size, `repetitions` times: the reference for a search. Calls
/// `progress`, if given, after each size.
std::vector<Finding> search_exhaustively(
    Evaluator& evaluator, std::span<const Bytes> sizes, int repetitions,
    const std::function<void(const SearchProgress&)>& progress = {});

using SamplesByArm = std::map<int, std::vector<double>>;

/// Orders the arms by their plain medians; arms without samples are left out.
Finding finding_by_medians(Bytes size, const SamplesByArm& samples_ns);

}  // namespace tutti
