// SPDX-License-Identifier: Apache-2.0
#include "results/views/views.hpp"

#include "base/name_table.hpp"

namespace tutti {
namespace {

constexpr View rows[] = {
    {"markdown", "a comment on a pull request, or GitHub's step summary", as_markdown},
    {"github", "annotations of a GitHub workflow, printed by its step", as_github_annotations},
    {"junit", "the test report of Jenkins, GitLab and others", as_junit},
    {"action-benchmark", "github-action-benchmark, tool customSmallerIsBetter",
     as_action_benchmark},
    {"bencher", "Bencher, adapter json", as_bencher},
    {"google-benchmark-a", "Google Benchmark's compare.py: A's launches", as_google_benchmark_a},
    {"google-benchmark-b", "Google Benchmark's compare.py: B's launches", as_google_benchmark_b},
    {"openmetrics", "Prometheus, or GitLab's metrics report", as_open_metrics},
    {"codequality", "GitLab's Code Quality report", as_code_quality},
    {"csv", "spreadsheets", as_csv},
    {"table", "the terminal: what 'tutti compare' prints", as_table},
};

}  // namespace

std::span<const View> views() { return rows; }

const View& find_view(std::string_view name) { return find_row(rows, "view", name); }

}  // namespace tutti
