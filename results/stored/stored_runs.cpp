// SPDX-License-Identifier: Apache-2.0
#include "results/stored/stored_runs.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <span>

#include "results/records/metric.hpp"
#include "results/statistics/statistics.hpp"
#include "results/stored/by_launch.hpp"
#include "results/stored/judge_stored.hpp"

namespace tutti {
namespace {

std::vector<double> logarithms(const StoredTimes& times) {
    std::vector<double> values;
    for (const double ns : times.ns) values.push_back(std::log(ns));
    return values;
}

// The mean of all metrics, launch by launch, if all launches of a side have measured all of them.
std::optional<StoredMetric> geometric_mean(std::span<const StoredMetric> metrics) {
    if (metrics.size() < 2) return std::nullopt;
    StoredMetric mean{.name = "geometric mean",
                      .a = std::vector<double>(metrics[0].a.size()),
                      .b = std::vector<double>(metrics[0].b.size())};
    for (const StoredMetric& metric : metrics) {
        if (metric.a.size() != mean.a.size() || metric.b.size() != mean.b.size())
            return std::nullopt;
        const auto add = [&](std::vector<double>& means, const std::vector<double>& logarithms) {
            for (std::size_t i = 0; i < means.size(); ++i)
                means[i] += logarithms[i] / static_cast<double>(metrics.size());
        };
        add(mean.a, metric.a);
        add(mean.b, metric.b);
    }
    return mean;
}

// Names metrics that only one side has.
void add_missing(const StoredRuns& a, const StoredRuns& b, const char* name_of_a,
                 const char* name_of_b, std::map<std::string, std::string>& missing) {
    for (const std::string& metric : a.order) {
        if (b.metrics.contains(metric)) continue;
        const auto skipped = b.skipped.find(metric);
        missing[metric] = skipped == b.skipped.end()
                              ? fmt::format("only {} measured it", name_of_a)
                              : fmt::format("{}: {}", name_of_b, skipped->second);
    }
}

VerdictRecord verdict_of(const std::string& metric, const StoredTimes& a, const StoredTimes& b,
                         const Judgement& judgement, const Rule& rule) {
    VerdictRecord verdict = record_of(metric, judgement, rule);
    verdict.a_ns = a.median_ns();
    verdict.b_ns = b.median_ns();
    verdict.nranks = b.nranks;
    verdict.method = Pairing::stored;
    if (verdict.verdict == Change::undecided)
        verdict.to_decide = "use more launches of A and of B, or measure both together";
    return verdict;
}

}  // namespace

double StoredTimes::median_ns() const { return median(ns); }

StoredRuns stored_runs(const Results& results) {
    StoredRuns runs{.fingerprint = fingerprint_of(results)};
    auto begun_as = first_parts(results.sessions);
    std::set<std::string> measured;
    for (const Point& point : results.points) measured.insert(point.session);
    for (const TrainingStep& step : results.steps) measured.insert(step.session);
    for (const Session& session : results.sessions) {
        if (!measured.contains(session.id)) continue;
        const Tool& tool = session.tool;
        runs.versions.insert(tool.version + (tool.git.empty() ? "" : " (" + tool.git + ")"));
        runs.first = runs.first.empty() ? session.t : std::min(runs.first, session.t);
        runs.last = std::max(runs.last, session.t);
    }
    std::set<std::pair<std::string, int>> launches;
    const auto add = [&](const std::string& metric, const auto& record, const Summary& time,
                         const Check& check) {
        if (record.skipped) {
            runs.skipped[metric] = *record.skipped;
            return;
        }
        launches.emplace(begun_as[record.session], record.launch);
        if (check.state == CheckState::fail)
            runs.wrong.push_back(fmt::format("{} wrong elements in {}", check.n_wrong, metric));
        if (time.p50 <= 0) return;
        if (!runs.metrics.contains(metric)) runs.order.push_back(metric);
        StoredTimes& times = runs.metrics[metric];
        times.ns.push_back(static_cast<double>(time.p50));
        times.nranks = record.key.nranks;
    };
    // Launch by launch, as of a run that was resumed the last part's record of a key counts.
    for (const Results& launch : by_launch(results)) {
        for (const Point& point : launch.points)
            add(metric_of(point.key), point, point.time, point.measured.check);
        for (const TrainingStep& step : launch.steps)
            add(metric_of(step.key), step, step.step, step.check);
    }
    runs.launches = static_cast<int>(launches.size());
    return runs;
}

std::string in_words(const StoredRuns& runs) {
    return fmt::format("{} {} of tutti {}, {}{}", runs.launches,
                       runs.launches == 1 ? "launch" : "launches",
                       fmt::join(runs.versions, " and "), runs.first,
                       runs.last == runs.first ? "" : " to " + runs.last);
}

StoredComparison compare_stored(const StoredRuns& a, const StoredRuns& b, const Rule& rule,
                                const std::vector<std::string>& ignored) {
    StoredComparison comparison;
    for (const auto& [runs, name] : {std::pair{&a, "A"}, std::pair{&b, "B"}})
        for (const std::string& wrong : runs->wrong)
            comparison.wrong.push_back(fmt::format("{}: {}", name, wrong));
    add_missing(a, b, "A", "B", comparison.missing);
    add_missing(b, a, "B", "A", comparison.missing);
    std::vector<StoredMetric> metrics;
    for (const std::string& name : b.order)
        if (a.metrics.contains(name))
            metrics.push_back(
                {name, logarithms(a.metrics.at(name)), logarithms(b.metrics.at(name))});
    const std::vector<Judgement> judgements = judge_stored(metrics, rule);
    for (std::size_t i = 0; i < metrics.size(); ++i) {
        const std::string& name = metrics[i].name;
        const StoredTimes &of_a = a.metrics.at(name), &of_b = b.metrics.at(name);
        comparison.verdicts.push_back(verdict_of(name, of_a, of_b, judgements[i], rule));
        comparison.verdicts.back().ignored = ignored;
        for (std::size_t k = 0; k < std::max(of_a.ns.size(), of_b.ns.size()); ++k)
            comparison.pairs.push_back({.launch = static_cast<int>(k) + 1,
                                        .metric = name,
                                        .seen = {.a_ns = k < of_a.ns.size() ? of_a.ns[k] : 0,
                                                 .b_ns = k < of_b.ns.size() ? of_b.ns[k] : 0}});
    }
    if (const auto mean = geometric_mean(metrics)) {
        comparison.verdicts.push_back(
            record_of(mean->name, judge_stored(std::vector{*mean}, rule)[0], rule));
        comparison.verdicts.back().method = Pairing::stored;
    }
    return comparison;
}

}  // namespace tutti
