// SPDX-License-Identifier: Apache-2.0
// Views that are JSON. Their shapes are those that the readers' own documentation gives.
#include <fmt/format.h>

#include <cmath>

#include "base/hashes.hpp"
#include "base/json_writer.hpp"
#include "results/views/view_words.hpp"
#include "results/views/views.hpp"

namespace tutti {
namespace {

std::string text_of(const Json& json) {
    return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

// Writes the launches as repetitions of Google Benchmark. `time` selects a side.
std::string google_benchmark(const ComparisonRecords& comparison, double LaunchOfMetric::*time) {
    Json entries = Json::array();
    std::map<std::string, int> families, repetitions;
    for (const Pair& pair : comparison.pairs)
        if (pair.seen.*time > 0) ++repetitions[pair.metric];
    for (const VerdictRecord& verdict : comparison.verdicts)
        if (!is_in_ns(verdict)) repetitions.erase(verdict.metric);  // no times that it could show
    std::map<std::string, int> done;
    for (const Pair& pair : comparison.pairs) {
        if (!repetitions.contains(pair.metric) || pair.seen.*time == 0) continue;
        const int family =
            families.emplace(pair.metric, static_cast<int>(families.size())).first->second;
        const std::string name = name_in_views(pair.metric);
        entries.push_back({{"name", name},
                           {"family_index", family},
                           {"per_family_instance_index", 0},
                           {"run_name", name},
                           {"run_type", "iteration"},
                           {"repetitions", repetitions[pair.metric]},
                           {"repetition_index", done[pair.metric]++},
                           {"threads", 1},
                           {"iterations", std::max<std::size_t>(pair.seen.quads.size() * 2, 1)},
                           {"real_time", pair.seen.*time},
                           {"cpu_time", pair.seen.*time},
                           {"time_unit", "ns"}});
    }
    return text_of(
        {{"context",
          {{"date", comparison.session.t},
           {"executable", "tutti"},
           {"method", name_of(is_stored(comparison) ? Pairing::stored : Pairing::by_turns)},
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
        Json entry = {{"name", name_in_views(verdict)},
                      {"unit", is_in_ns(verdict)      ? "us"
                               : verdict.unit.empty() ? "as printed"
                                                      : verdict.unit},
                      {"value", verdict.b_ns * scale},
                      {"extra", fmt::format("{}: {} against A, {} launches ({})",
                                            name_of(verdict.verdict), change_in_words(verdict),
                                            verdict.launches, basis_in_words(verdict))}};
        if (has_interval(verdict))
            entry["range"] =
                fmt::format("± {:.3g}", verdict.b_ns * scale * (verdict.high - verdict.low) / 2 /
                                            verdict.ratio);
        entries.push_back(entry);
    }
    return text_of(entries);
}

std::string as_bencher(const ComparisonRecords& comparison) {
    Json metrics = Json::object();
    for (const VerdictRecord& verdict : comparison.verdicts) {
        if (is_mean(verdict)) continue;
        Json measured = {{"value", verdict.b_ns}};
        if (has_interval(verdict)) {
            measured["lower_value"] = verdict.b_ns * verdict.low / verdict.ratio;
            measured["upper_value"] = verdict.b_ns * verdict.high / verdict.ratio;
        }
        // Bencher's own measure latency is of ns.
        metrics[name_in_views(verdict)][is_in_ns(verdict) ? "latency" : "value"] = measured;
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
    const auto add = [&](const std::string& what, const std::string& description,
                         const char* severity) {
        issues.push_back(
            {{"description", description},
             {"check_name", "tutti compare"},
             {"fingerprint", sha256("tutti compare " + what)},
             {"severity", severity},
             {"location",
              {{"path", path_in_project(comparison.file)}, {"lines", {{"begin", 1}}}}}});
    };
    int wrong_ones = 0;  // GitLab shows one issue per fingerprint
    for (const std::string& wrong : comparison.wrong)
        add(fmt::format("wrong {}", ++wrong_ones), "wrong: " + message_in_views(wrong), "blocker");
    for (const VerdictRecord& verdict : comparison.verdicts) {
        if (verdict.verdict != Change::slower || is_mean(verdict)) continue;
        add(verdict.metric,
            fmt::format("{} is slower: {}", name_in_views(verdict), change_with_values(verdict)),
            std::abs(verdict.ratio - 1) > 0.1 ? "critical" : "major");
    }
    for (const FloorRecord& floor : comparison.floors)
        if (!floor.met)
            add("floor " + floor.asked, "missed: " + message_in_views(floor_in_words(floor)),
                "critical");
    return text_of(issues);
}

}  // namespace tutti
