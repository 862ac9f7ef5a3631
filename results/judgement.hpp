// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/name_table.hpp"
#include "results/signed_rank.hpp"

namespace tutti {

/// What was found of a metric: B against A. Undecided: neither a change nor its absence is shown.
enum class Change { slower, faster, same, undecided };
template <>
struct NamesOf<Change> {
    static constexpr const char* kind = "change";
    static constexpr Named<Change> rows[] = {{Change::slower, "slower"},
                                             {Change::faster, "faster"},
                                             {Change::same, "same"},
                                             {Change::undecided, "undecided"}};
};

/// One metric, as several launches saw it; numbers are natural logarithms of ratios of times.
struct ComparedMetric {
    std::string name;
    std::vector<double> changes;  ///< ln(B / A), one of each launch
    /// What the launches' own repetitions differ by: ln(A / A) and ln(B / B), one of each launch.
    std::vector<double> noise_of_a, noise_of_b;

    bool operator==(const ComparedMetric&) const = default;
};

struct Rule {
    double confidence = 0.98;   ///< of intervals, and of all verdicts of a comparison together
    double min_effect = 0.025;  ///< a change must be larger to be one
};

struct Judgement {
    Change change = Change::undecided;
    Shift shift;            ///< of ln(B / A)
    double noise = 0;       ///< |ln| that the same program against itself showed here
    double adjusted_p = 1;  ///< by Holm, over all metrics of the comparison
    double visible = 0;     ///< so large a change (0.05: 5 %) would have been seen; may be infinite
    std::string reason;     ///< the rule that decided, in words
};

/// The verdicts on all metrics of a comparison. Slower (faster) is what has an estimate beyond the
/// minimum effect and beyond its own noise, and an interval and a p-value, adjusted for the number
/// of metrics, that exclude 0. The same is what has an interval within plus and minus the minimum
/// effect. In the order of the metrics.
std::vector<Judgement> judge(std::span<const ComparedMetric> metrics, const Rule& rule);

/// The geometric mean of all metrics as a metric of its own: in each launch the mean of their
/// logarithms. Metrics without launches do not count; those that have some must have equally many.
/// Nothing if fewer than two have any.
std::optional<ComparedMetric> geometric_mean(std::span<const ComparedMetric> metrics);

/// How many launches would show a change of `wished` (0.025: 2.5 %), by the spread of those that
/// are here; at least as many as the rule's interval needs. Nothing of fewer than three launches.
std::optional<int> launches_for(const ComparedMetric& metric, double wished, const Rule& rule);

}  // namespace tutti
