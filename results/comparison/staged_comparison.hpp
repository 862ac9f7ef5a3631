// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/clock.hpp"
#include "results/comparison/comparison_records.hpp"
#include "results/comparison/judgement.hpp"

namespace tutti {

/// The result of one launch of A and B, which alternate.
struct LaunchOfBoth {
    std::map<std::string, LaunchOfMetric> metrics;
    std::vector<std::string> order;  ///< metrics in order of measurement
    std::vector<std::string> wrong;  ///< such as "B: 3 wrong elements in all_reduce ..."
    std::map<std::string, std::string> missing;  ///< metrics that cannot be compared, and why
    std::map<std::string, StepGrowth> steps;  ///< filled by a launch by steps, instead of `metrics`
    /// Metrics that the whole comparison drops, and why: a run printed no usable number.
    std::map<std::string, std::string> dropped;
    bool is_cut_short = false;  ///< the budget ended during this launch; other fields are empty
};

/// The metrics that a launch should measure.
struct WantedMetrics {
    std::set<std::string> names = {};                               ///< empty: all
    std::size_t number = 0;                                         ///< how many; 0: not known yet
    double seconds_left = std::numeric_limits<double>::infinity();  ///< remaining budget

    bool contain(const std::string& name) const { return names.empty() || names.contains(name); }
};

/// Launches A and B. Throws Error if one of them fails.
using LaunchBoth = std::function<LaunchOfBoth(const WantedMetrics& wanted)>;

/// A metric with the launches of the stage that decided.
struct MetricResult {
    ComparedMetric metric;
    Judgement judgement;
    std::vector<LaunchOfMetric> launches;
    int stage = 1;

    double a_ns() const;  ///< median over the launches
    double b_ns() const;
};

struct ComparisonResult {
    std::vector<MetricResult> metrics;  ///< in order of measurement
    /// Geometric mean of all metrics over all launches; if all verdicts are "same", so is it.
    std::optional<MetricResult> mean;
    std::vector<std::string> wrong;  ///< without duplicates
    std::map<std::string, std::string> missing;
    int launches = 0;           ///< over all stages
    double seconds = 0;         ///< of this process, without ComparisonPlan::known
    double launch_seconds = 0;  ///< mean time of a launch of this process; 0 if it made none
    bool ran_out = false;       ///< true if the budget ended a stage early
};

/// A launch of a stage; both numbers start at 1.
struct StagedLaunch {
    int stage = 1;
    int number = 1;
    LaunchOfBoth seen;
};

struct ComparisonPlan {
    Rule rule;
    double budget_seconds = 60;
    int first_launches = 7;  ///< for all metrics; at least what the interval of the rule needs
    int second_launches =
        12;  ///< new launches, for metrics that the first stage did not show to be the same
    int most_launches = tutti::most_launches;  ///< of the second stage; 0: no second stage
    /// Launches of the interrupted run that is resumed. They are not repeated, and the budget does
    /// not include their time.
    std::vector<StagedLaunch> known = {};
    std::function<std::int64_t()> now_ns = tutti::now_ns;  ///< the clock of the budget
};

/// Callbacks during a comparison.
struct ComparisonEvents {
    std::function<void(const std::string&)> progress;       ///< gets a line about progress
    std::function<void(const StagedLaunch&)> after_launch;  ///< called after each new launch
};

/// Compares in two stages. The first measures all metrics in a few launches and settles those that
/// are the same. The second measures the others in new launches, which alone decide: the launches
/// of the first stage selected these metrics, and would be biased. A first look at the new launches
/// follows when there are as many as the spread of the first stage asks for, further looks after
/// 1.4 times as many each (see rule_of_look). A metric that is decided is not measured again. The
/// stage ends when nothing is left that more launches could decide, or with the budget. If the
/// budget is too short for two stages, all launches belong to one. A launch with wrong results ends
/// the comparison at once.
ComparisonResult compare(const LaunchBoth& launch, const ComparisonPlan& plan,
                         const ComparisonEvents& events);

}  // namespace tutti
