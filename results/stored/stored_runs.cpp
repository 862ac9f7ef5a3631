// SPDX-License-Identifier: Apache-2.0
#include "results/stored/stored_runs.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "results/statistics.hpp"
#include "results/stored/judge_stored.hpp"

namespace tutti {
namespace {

// As 'tutti compare' calls what it measures itself.
std::string metric_of(const Key& key) {
    return call_in_words(key) + " " + candidate_in_words(key) +
           (key.placement.empty() ? "" : ", " + key.placement);
}

std::vector<double> logarithms(const StoredTimes& times) {
    std::vector<double> values;
    for (const double ns : times.ns) values.push_back(std::log(ns));
    return values;
}

// What one has and the other has not.
void add_missing(const StoredRuns& a, const StoredRuns& b, const char* name_of_a,
                 const char* name_of_b, std::map<std::string, std::string>& missing) {
    for (const std::string& metric : a.order) {
        if (b.metrics.contains(metric)) continue;
        const auto skipped = b.skipped.find(metric);
        missing[metric] = skipped == b.skipped.end()
                              ? fmt::format("only {} has it", name_of_a)
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
    return verdict;
}

}  // namespace

double StoredTimes::median_ns() const { return median(ns); }

StoredRuns stored_runs(const Results& results) {
    StoredRuns runs{.fingerprint = fingerprint_of(results)};
    std::map<std::string, std::string> begun_as;  // sessions that go on, by the first of them
    std::set<std::string> measured;
    for (const Point& point : results.points) measured.insert(point.session);
    for (const Session& session : results.sessions) {
        begun_as[session.id] = session.resume_of && begun_as.contains(*session.resume_of)
                                   ? begun_as[*session.resume_of]
                                   : session.id;
        if (!measured.contains(session.id)) continue;
        const Tool& tool = session.tool;
        runs.versions.insert(tool.version + (tool.git.empty() ? "" : " (" + tool.git + ")"));
        runs.first = runs.first.empty() ? session.t : std::min(runs.first, session.t);
        runs.last = std::max(runs.last, session.t);
    }
    std::set<std::pair<std::string, int>> launches;
    for (const Point& point : results.points) {
        const std::string metric = metric_of(point.key);
        if (point.skipped) {
            runs.skipped[metric] = *point.skipped;
            continue;
        }
        launches.emplace(begun_as[point.session], point.launch);
        if (point.measured.check.state == CheckState::fail)
            runs.wrong.push_back(
                fmt::format("{} wrong elements in {}", point.measured.check.n_wrong, metric));
        if (point.time.p50 <= 0) continue;
        if (!runs.metrics.contains(metric)) runs.order.push_back(metric);
        StoredTimes& times = runs.metrics[metric];
        times.ns.push_back(static_cast<double>(point.time.p50));
        times.nranks = point.key.nranks;
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
    return comparison;
}

}  // namespace tutti
