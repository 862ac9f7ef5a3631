// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <span>
#include <string>
#include <string_view>

#include "results/records/record.hpp"

namespace tutti {

/// A comparison as its records tell of it.
struct ComparisonRecords {
    Session session;
    std::vector<Pair> pairs;
    std::vector<VerdictRecord> verdicts;
    std::vector<FloorRecord> floors;
    std::vector<StepGrowth> growth;  ///< of metrics that are slower, where it was asked for
    std::vector<std::string> wrong;  ///< results that were wrong; then no times matter
    std::string file;                ///< that holds the records; may be empty
    std::int64_t wall_ns = 0;        ///< that it took
};

/// A text that something else reads: a CI system, a service that keeps history, a table.
struct View {
    std::string_view name;
    std::string_view what;  ///< one sentence: who reads it
    std::string (*text)(const ComparisonRecords& comparison);
};

/// The one place where views are listed.
std::span<const View> views();

/// Throws Error naming the known ones.
const View& find_view(std::string_view name);

// The rows of views.cpp.

/// For a comment on a pull request or GitHub's step summary: slower ones first, by size, at most 60
/// kB. Empty if all metrics are the same, so that there is nothing to post.
std::string as_markdown(const ComparisonRecords& comparison);
/// GitHub's workflow commands: an annotation for each slower (error), undecided (warning) and
/// faster (notice) metric, at most ten of each kind, as GitHub shows no more.
std::string as_github_annotations(const ComparisonRecords& comparison);
/// JUnit's XML: a test case for each metric; slower is a failure, undecided is skipped, a wrong
/// result is an error.
std::string as_junit(const ComparisonRecords& comparison);
/// github-action-benchmark's "customSmallerIsBetter": the times of B.
std::string as_action_benchmark(const ComparisonRecords& comparison);
/// Bencher's metric format: latency in ns of B, with its interval.
std::string as_bencher(const ComparisonRecords& comparison);
/// Google Benchmark's JSON, of A or of B: one entry for each launch, as repetitions of a name, so
/// that its compare.py takes launches for what repeats.
std::string as_google_benchmark_a(const ComparisonRecords& comparison);
std::string as_google_benchmark_b(const ComparisonRecords& comparison);
/// OpenMetrics text, as Prometheus and GitLab's metrics report read it.
std::string as_open_metrics(const ComparisonRecords& comparison);
/// GitLab's Code Quality report: an issue for each wrong result and each slower metric.
std::string as_code_quality(const ComparisonRecords& comparison);
/// A table with a head line.
std::string as_csv(const ComparisonRecords& comparison);
/// The output of 'tutti compare': a line for each metric and each floor, and how many are what.
std::string as_table(const ComparisonRecords& comparison);

/// The launches and the rule that decided, of metrics with `part` in their name. Throws Error where
/// there is none.
std::string explained(const ComparisonRecords& comparison, const std::string& part);

}  // namespace tutti
