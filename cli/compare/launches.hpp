// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <functional>
#include <limits>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "results/comparison/comparison_records.hpp"
#include "results/comparison/quad_loop.hpp"

namespace tutti {

/// One launch of A and B, in which they alternate.
struct LaunchOfBoth {
    std::map<std::string, LaunchOfMetric> metrics;
    std::vector<std::string> order;              ///< of the metrics, as they were measured
    std::vector<std::string> wrong;              ///< "B: 3 wrong elements in all_reduce ..."
    std::map<std::string, std::string> missing;  ///< metrics that cannot be compared, and why
    std::map<std::string, StepGrowth> steps;     ///< of a launch by steps, instead of `metrics`
    /// Metrics that the whole comparison drops, with the reason: a run printed no usable number.
    std::map<std::string, std::string> dropped;
    bool is_cut_short = false;  ///< the budget ended during this launch; other fields are empty
};

/// The metrics that a launch is to measure.
struct WantedMetrics {
    std::set<std::string> names = {};                               ///< empty: all
    std::size_t number = 0;                                         ///< how many; 0: not known yet
    double seconds_left = std::numeric_limits<double>::infinity();  ///< left of the budget

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

/// A number that a program printed. If it cannot be compared, `value` is 0 and `trouble` is the
/// reason.
struct Reading {
    double value = 0;
    std::string trouble = {};
};

/// The metrics that one run printed.
struct PrintedMetrics {
    std::vector<std::string> order;
    std::map<std::string, Reading> readings;
    std::map<std::string, int> lines;            ///< number of readings of each name
    std::map<std::string, std::string> misused;  ///< --metric that found no number, and the error
};

/// Finds the metrics in a program's output. Throws Error for an invalid regular expression.
PrintedMetrics metrics_in(const std::string& output, const std::vector<std::string>& metrics);

/// Runs two commands that print times, one after the other: A B B A, then B A A B. Drops a metric
/// if a run does not print it, or does not print a number from 1e-100 to 1e100.
struct Programs {
    Command a, b;
    /// A regular expression whose last group is a number on a line of the output (with two groups
    /// the first one names the metric), or a pointer into the JSON that is the output: /a/0/time.
    std::vector<std::string> metrics;
    bool more_is_better = false;  ///< the numbers are rates
    int quads = 2;                ///< in what counts as a launch; even
    /// Limit for one run, in seconds. 0: 10 times the longest run so far, at least 10; 600 until a
    /// run has finished. What is left of the budget shortens the limit, but not below 3 times the
    /// longest run so far or 3 s.
    double run_timeout = 0;

    /// Throws Error if a run fails or exceeds its limit, or if the first four runs all lack a
    /// metric.
    LaunchOfBoth operator()(const WantedMetrics& wanted);

private:
    PrintedMetrics run_once(Side side, double seconds_left);
    double most_seconds(double seconds_left) const;
    double run_limit() const;  // without the budget
    std::string advice(double seconds, const std::string& last_words) const;

    double longest_run_seconds_ = 0;
    int runs_ = 0;
    std::map<std::string, int> misused_;  ///< runs in which a metric found no number
    std::vector<std::string> order_;      ///< all metrics that any run has printed
    std::set<std::string> names_;         ///< the same, to look them up
};

}  // namespace tutti
