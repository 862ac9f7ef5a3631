// SPDX-License-Identifier: Apache-2.0
// Views that are JSON. Their shapes are those that the readers' own documentation gives.
#include <fmt/format.h>

#include "base/json_writer.hpp"
#include "base/sha256.hpp"
#include "results/views/view_words.hpp"
#include "results/views/views.hpp"

namespace tutti {
namespace {

std::string text_of(const Json& json) {
    return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

// What Google Benchmark would have measured, had it made the launches. `time` is of one side.
std::string google_benchmark(const ComparisonRecords& comparison, double LaunchOfMetric::*time) {
    Json entries = Json::array();
    std::map<std::string, int> families, repetitions;
    for (const Pair& pair : comparison.pairs) ++repetitions[pair.metric];
    for (const VerdictRecord& verdict : comparison.verdicts)
        if (!is_in_ns(verdict)) repetitions.erase(verdict.metric);  // no times that it could show
    std::map<std::string, int> done;
    for (const Pair& pair : comparison.pairs) {
        if (!repetitions.contains(pair.metric)) continue;
        const int family =
            families.emplace(pair.metric, static_cast<int>(families.size())).first->second;
        entries.push_back({{"name", pair.metric},
                           {"family_index", family},
                           {"per_family_instance_index", 0},
                           {"run_name", pair.metric},
                           {"run_type", "iteration"},
                           {"repetitions", repetitions[pair.metric]},
                           {"repetition_index", done[pair.metric]++},
                           {"threads", 1},
                           {"iterations", pair.seen.quads.size() * 2},
                           {"real_time", pair.seen.*time},
                           {"cpu_time", pair.seen.*time},
                           {"time_unit", "ns"}});
    }
    return text_of({{"context",
                     {{"date", comparison.session.t},
                      {"executable", "tutti"},
                      {"library_build_type", "release"},
                      {"json_schema_version", 1}}},
                    {"benchmarks", entries}});
}

}  // namespace

std::string as_action_benchmark(const ComparisonRecords& comparison) {
    Json entries = Json::array();
    for (const VerdictRecord& verdict : comparison.verdicts) {
        if (is_mean(verdict)) continue;
        const double scale = is_in_ns(verdict) ? 1e-3 : 1;
        Json entry = {
            {"name", verdict.metric},
            {"unit", is_in_ns(verdict) ? "us" : "as printed"},
            {"value", verdict.b_ns * scale},
            {"extra", fmt::format("{}: {} against A, {} launches", name_of(verdict.verdict),
                                  change_in_words(verdict), verdict.launches)}};
        if (has_interval(verdict))
            entry["range"] =
                fmt::format("± {:.3g}", verdict.b_ns * scale * (verdict.high - verdict.low) / 2 /
                                            verdict.ratio);
        entries.push_back(entry);
    }
    return text_of(entries);
}

std::string as_bencher(const ComparisonRecords& comparison) {
    constexpr std::size_t longest_name = 1024;
    Json metrics = Json::object();
    for (const VerdictRecord& verdict : comparison.verdicts) {
        if (is_mean(verdict)) continue;
        Json measured = {{"value", verdict.b_ns}};
        if (has_interval(verdict)) {
            measured["lower_value"] = verdict.b_ns * verdict.low / verdict.ratio;
            measured["upper_value"] = verdict.b_ns * verdict.high / verdict.ratio;
        }
        // Bencher's own measure latency is of ns.
        metrics[verdict.metric.substr(0, longest_name)][is_in_ns(verdict) ? "latency" : "value"] =
            measured;
    }
    return text_of(metrics);
}

std::string as_google_benchmark_a(const ComparisonRecords& comparison) {
    return google_benchmark(comparison, &LaunchOfMetric::a_ns);
}

std::string as_google_benchmark_b(const ComparisonRecords& comparison) {
    return google_benchmark(comparison, &LaunchOfMetric::b_ns);
}

std::string as_code_quality(const ComparisonRecords& comparison) {
    Json issues = Json::array();
    for (const VerdictRecord& verdict : comparison.verdicts) {
        if (verdict.verdict != Change::slower || is_mean(verdict)) continue;
        issues.push_back(
            {{"description", fmt::format("{} is slower: {} ({})", verdict.metric,
                                         change_in_words(verdict), interval_in_words(verdict))},
             {"check_name", "tutti compare"},
             {"fingerprint", sha256("tutti compare " + verdict.metric)},
             {"severity", verdict.ratio > 1.1 ? "critical" : "major"},
             {"location",
              {{"path", comparison.file.empty() ? "tutti" : comparison.file},
               {"lines", {{"begin", 1}}}}}});
    }
    return text_of(issues);
}

}  // namespace tutti
