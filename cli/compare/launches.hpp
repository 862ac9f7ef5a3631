// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "cli/jobs/job.hpp"
#include "results/comparison/floors.hpp"
#include "results/comparison/printed_metrics.hpp"
#include "results/comparison/quad_loop.hpp"
#include "results/comparison/staged_comparison.hpp"
#include "results/stored/stored_runs.hpp"

namespace tutti {

/// Two tutti jobs that run at the same time and measure in turns, in blocks of some milliseconds.
/// After two quads both allocate buffers and plans again, at other offsets within a page: the
/// position in memory can make one of them a few per cent faster for as long as it keeps it, as
/// Curtsinger and Berger show for code and data of any program (Stabilizer, ASPLOS 2013). `listen`
/// is the address at which their first ranks reach this process.
struct TwinJobs {
    Command a, b;
    std::string listen = "127.0.0.1";
    int quads =
        0;  ///< quads per metric in a launch, even; 0: 8, or as many as fit into the metric's share
            ///< of the time that a start of the jobs takes (the next launch would cost that again)
    double start_seconds = 60;  ///< time limit for the start of a job
    double silence_seconds =
        600;  ///< longest silence of a job; its own waits have shorter time limits

    LaunchOfBoth operator()(const WantedMetrics& wanted) const;
    /// The same, but each block reports when the steps of a call end. A metric is missing if its
    /// steps cannot be observed, or differ between A and B.
    LaunchOfBoth by_steps(const WantedMetrics& wanted) const;
};

/// Returns the variables with which Open MPI starts two jobs on the same cores, also as root. Other
/// launchers ignore them.
std::map<std::string, std::string> environment_of_twins();

/// Names of metrics that are measured, not printed.
constexpr const char* wall_time = "wall_time";  ///< from the start of a run to its end
constexpr const char* cpu_time = "cpu_time";    ///< user and system time, see Child::cpu_seconds

/// Runs two commands that print times, one after the other: A B B A, then B A A B. Drops a metric
/// if a run does not print it, or does not print a number from 1e-100 to 1e100. Times with a unit
/// are compared in ns, other numbers in the unit that the first run printed.
struct Programs {
    Command a, b;
    /// `wall_time`, `cpu_time`, a regular expression whose last group is a number on a line of the
    /// output (with two groups the first one names the metric), or a pointer into the JSON that is
    /// the output: /a/0/time.
    std::vector<std::string> metrics;
    /// Whether larger printed numbers are better; nothing: if their unit is a rate.
    std::optional<bool> more_is_better;
    std::string default_unit;  ///< of numbers that are printed without one; may be empty
    int quads = 2;             ///< in what counts as a launch; even
    /// Limit for one run, in seconds. 0: 10 times the longest run so far, at least 10; 600 until a
    /// run has finished. The remaining budget shortens the limit, but not below 3 times the longest
    /// run so far or 3 s.
    double run_timeout = 0;

    /// Throws Error if a run fails or exceeds its limit, or if the first four runs all lack a
    /// metric.
    LaunchOfBoth operator()(const WantedMetrics& wanted);

    /// Returns whether a run computed on this host for much of its time. Waiting for a busy core
    /// makes the share smaller, so the run with the largest share counts.
    bool computes() const { return largest_cpu_share_ > 0.2; }

private:
    void in_first_units(PrintedMetrics& printed);
    PrintedMetrics run_once(Side side, double seconds_left);
    double most_seconds(double seconds_left) const;
    double run_limit() const;  // without the budget
    std::string advice(double seconds, const std::string& last_words) const;

    double longest_run_seconds_ = 0;
    double largest_cpu_share_ = 0;  ///< of the time of a run
    int runs_ = 0;
    bool has_long_lines_ = false;
    std::map<std::string, std::string> units_;  ///< of each metric, as a run printed it first
    std::map<std::string, int> misused_;        ///< runs in which a metric found no number
    std::vector<std::string> order_;            ///< all metrics that any run has printed
    std::set<std::string> names_;               ///< the same, to look them up
};

/// A comparison with results files of 'tutti bench'. It is weaker than measuring both together, as
/// the machine may have changed in between.
struct StoredBaseline {
    std::string a;        ///< a file; empty: only B, for its floors
    std::string b;        ///< a file; empty: measured now
    Command job;          ///< the job that measures B
    std::string kept_in;  ///< the file that B's records are appended to; may be empty
    int launches = 12;
    double budget_seconds = 60;
    std::set<std::string> ignored;  ///< fields of the fingerprint that may differ
};

struct BaselineResult {
    StoredComparison compared;
    std::vector<TimeOfCall> calls;  ///< all calls of B, also those that A lacks
    std::string a, b;               ///< descriptions
    int launches = 0;               ///< launches of B made now
    bool ran_out = false;           ///< true if the budget ended them early
};

/// Reads A, measures B unless it is a file, and compares them. If their fingerprints differ, prints
/// a line on stderr for each field and throws Error (not_comparable); wrong results are reported
/// first.
BaselineResult compare_with(const StoredBaseline& baseline, const Rule& rule,
                            const std::function<void(const std::string&)>& tell);

}  // namespace tutti
