// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <vector>

#include "autotune/search/evaluator.hpp"

namespace tutti {

/// What is known of one arm at one size.
struct Evidence {
    int arm = 0;
    std::vector<double> samples_ns;
    /// Its time over the winner's as the search estimates it, with what the sizes beside it say;
    /// nothing where only the samples are known.
    std::optional<double> ratio = std::nullopt;
};

/// What a search found at one size.
struct Finding {
    Bytes size;
    int winner = -1;        ///< arm; -1: nothing can run, or nothing was measured anywhere
    bool measured = false;  ///< else taken over from its neighbours
    /// Expected cost of the choice, as a share of its time, as far as noise hides the better one.
    double doubt = 0;
    std::vector<Evidence> entries;  ///< of all that raced here, the winner first, then by time
};

/// Reported after each race.
struct SearchProgress {
    double share = 0;  ///< of the work that is done, 0 to 1
    Bytes size;        ///< where the race was
    int winner = -1;   ///< arm that leads there now
};

/// One round of a race: so many repetitions of each arm, then those leave that are beaten beyond
/// noise and by more than this ratio.
struct HeatRound {
    int repetitions = 0;
    double drop_beyond = 1;
};

struct SearchOptions {
    /// Winners of neighbouring sizes become one where it costs less than this share.
    double hysteresis = 0.03;

    /// Two repetitions resolve a factor of 1.4 and survive one outlier; two more resolve 1.2. What
    /// is still in doubt then is decided by the pass over doubts.
    std::vector<HeatRound> rounds = {{2, 1.4}, {2, 1.2}};

    /// Of a family with parameters only one representative starts, whose siblings may be faster by
    /// about this factor: such a family is dropped by so much later.
    double family_slack = 1.6;

    /// Inside a bracket arms stay that interpolation puts within 1 + this * (octaves between the
    /// sizes that they were measured at) of the best: 1.4 between neighbours, 2.6 over a range of
    /// 256, where the lines between two points are far from the truth.
    double bracket_slack_per_octave = 0.2;

    /// One size between two others that have the same winner is not measured if that leads by this
    /// share at both.
    double clear_lead = 0.15;

    /// The model never drops an arm that it puts within this factor of the best, and drops none at
    /// all if its logarithmic error, seen at the anchors, is larger than this.
    double model_factor = 4;
    double model_error = 0.45;

    /// After the first pass the rest goes where the choice is most in doubt, until each choice is
    /// expected to cost less than `doubt`, or its rivals have `finalist_samples` each.
    double doubt = 0.002;
    int finalist_samples = 20;
    /// That pass ends when the search has spent these shares of what 20 repetitions of all arms at
    /// all sizes would take.
    double sample_share = 0.09;
    double time_share = 0.15;

    std::function<void(const SearchProgress&)> progress;
};

/// The best arm for each of the sizes (ascending), with few races: all families at the
/// smallest and the largest, then bisection in the logarithm of the size where winners differ
/// (Hunold et al. 2018; ACCLAiM 2022; AutoCCL 2025 for the descent over parameters). An arm is
/// dropped only inside a bracket at whose both ends it loses. The same samples give the same
/// search. Ends early where the evaluator is over; what is known then is used.
std::vector<Finding> search(Evaluator& evaluator, std::span<const Bytes> sizes,
                            const SearchOptions& options);

/// Every arm at every size, `repetitions` times: the oracle that a search is measured against.
/// `progress`, where it is given, is returned after each size.
std::vector<Finding> search_exhaustively(
    Evaluator& evaluator, std::span<const Bytes> sizes, int repetitions,
    const std::function<void(const SearchProgress&)>& progress = {});

using SamplesByArm = std::map<int, std::vector<double>>;

/// The arms in the order of their plain medians; those without samples are left out.
Finding finding_by_medians(Bytes size, const SamplesByArm& samples_ns);

}  // namespace tutti
