// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "cli/compare/launches.hpp"
#include "results/comparison/judgement.hpp"

namespace tutti {

/// A metric of a comparison: what each launch of the stage that decided told of it.
struct MetricResult {
    ComparedMetric metric;
    Judgement judgement;
    std::vector<LaunchOfMetric> launches;
    int stage = 1;

    double a_ns() const;  ///< the median of the launches
    double b_ns() const;
};

struct ComparisonResult {
    std::vector<MetricResult> metrics;  ///< in the order of measuring
    /// The geometric mean of all, over the first stage, or by all metrics where these are the same.
    std::optional<MetricResult> mean;
    std::vector<std::string> wrong;  ///< each once
    std::map<std::string, std::string> missing;
    int launches = 0;  ///< of all stages
    double seconds = 0;
    bool ran_out = false;  ///< the budget ended a stage early
};

/// A launch of a stage; both are counted from 1.
struct StagedLaunch {
    int stage = 1;
    int number = 1;
    LaunchOfBoth seen;
};

struct ComparisonPlan {
    Rule rule;
    double budget_seconds = 60;
    int first_launches = 7;  ///< of all metrics; at least as many as the rule's interval needs
    int second_launches =
        12;                  ///< fresh ones, of those that the first have not shown to be the same
    int most_launches = 60;  ///< of the second stage; 0: there is none
    /// Of the same comparison, which was interrupted: these need not be made again, and their time
    /// is not in the budget.
    std::vector<StagedLaunch> known = {};
};

/// What is told while a comparison goes on.
struct ComparisonEvents {
    std::function<void(const std::string&)> progress;       ///< a line on how far it is
    std::function<void(const StagedLaunch&)> after_launch;  ///< each that was made, at its end
};

/// Two stages. First a few launches of all metrics: those that are the same are done. Then fresh
/// launches of the others, which alone decide on them (the first have picked them out, and would be
/// biased): as many as the spread of the first asks for, and, where those saw no large change,
/// until the intervals are about as narrow as the minimum effect; as far as the budget goes. Where
/// it does not go that far, all launches that fit are of one stage. A launch with wrong results
/// ends it at once.
ComparisonResult compare(const LaunchBoth& launch, const ComparisonPlan& plan,
                         const ComparisonEvents& events);

}  // namespace tutti
