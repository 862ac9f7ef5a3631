// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "results/comparison/comparison_records.hpp"

namespace tutti {

/// One launch of A and B, in which they alternate.
struct LaunchOfBoth {
    std::map<std::string, LaunchOfMetric> metrics;
    std::vector<std::string> order;              ///< of the metrics, as they were measured
    std::vector<std::string> wrong;              ///< "B: 3 wrong elements in all_reduce ..."
    std::map<std::string, std::string> missing;  ///< metrics that cannot be compared, and why
    std::map<std::string, StepGrowth> steps;     ///< of a launch by steps, instead of `metrics`
};

/// The metrics that a launch is to measure.
struct WantedMetrics {
    std::set<std::string> names = {};  ///< empty: all
    std::size_t number = 0;            ///< of them; 0: not known yet

    bool contain(const std::string& name) const { return names.empty() || names.contains(name); }
};

/// Launches both. Throws Error if one of them fails.
using LaunchBoth = std::function<LaunchOfBoth(const WantedMetrics& wanted)>;

/// A program with its words, and what is added to its environment.
struct Command {
    std::vector<std::string> words;
    std::map<std::string, std::string> environment;
    bool is_of_this_host = false;  ///< a job of tutti with all its ranks here
};

/// Two jobs of tutti that are there at the same time and measure by turns, in blocks of some
/// milliseconds. After two quads both lay their buffers anew: where memory happens to lie makes one
/// of them faster by some per cent for as long as it keeps it, as Curtsinger and Berger show for
/// code and data of any program (Stabilizer, ASPLOS 2013). `listen`: the address at which their
/// first ranks reach this process.
struct TwinJobs {
    Command a, b;
    std::string listen = "127.0.0.1";
    int quads = 0;  ///< of each metric in a launch, even; 0: 8, or as many as take its share of the
                    ///< time in which the jobs start, as the next launch costs that again
    double start_seconds = 60;     ///< for a job to start
    double silence_seconds = 600;  ///< of a job, whose own waits have deadlines of their own

    LaunchOfBoth operator()(const WantedMetrics& wanted) const;
    /// The same, but each block tells when the steps of a call end; a metric whose steps cannot be
    /// seen, or are not the same in both, is missing.
    LaunchOfBoth by_steps(const WantedMetrics& wanted) const;
};

/// Two commands that print times, started one after the other: A B B A, then B A A B.
struct Programs {
    Command a, b;
    /// A regular expression whose last group is a number on a line of the output (with two groups
    /// the first one names the metric), or a pointer into the JSON that is the output: /a/0/time.
    std::vector<std::string> metrics;
    bool more_is_better = false;  ///< the numbers are rates
    int quads = 2;                ///< in what counts as a launch; even
    double seconds = 600;         ///< for one run

    LaunchOfBoth operator()(const WantedMetrics& wanted) const;
};

/// The metrics that a program's output has, in order. Throws Error for a metric that it has not.
std::vector<std::pair<std::string, double>> metrics_in(const std::string& output,
                                                       const std::vector<std::string>& metrics);

}  // namespace tutti
