// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <iostream>

#include "base/clock.hpp"
#include "base/output.hpp"
#include "cli/build_info.hpp"
#include "cli/options/compare_options.hpp"
#include "cli/progress/progress_bar.hpp"
#include "cli/provenance.hpp"
#include "cli/ranks/interruption.hpp"
#include "results/records/metric.hpp"
#include "results/statistics/statistics.hpp"
#include "results/stored/comparison_file.hpp"
#include "results/views/attribution.hpp"
#include "results/views/view_words.hpp"

namespace tutti {
namespace {

// Returns what else makes launches of an undecided metric differ less; may be empty.
std::string other_advice(const VerdictRecord& record, const CompareOptions& options) {
    const auto* programs = options.launch.target<Programs>();
    if (programs != nullptr && programs->computes() && is_in_ns(record) &&
        record.metric != cpu_time)
        return fmt::format("; or compare CPU time, which other processes disturb less: --metric {}",
                           cpu_time);
    const auto* twins = options.launch.target<TwinJobs>();
    std::string setting;
    std::getline(std::ifstream(shared_huge_pages), setting);
    if (twins != nullptr && twins->a.is_of_this_host &&
        would_profit_from_huge_pages(record.metric, setting))
        return fmt::format(
            "; or give shared memory huge pages, so that launches differ less: as root, echo "
            "advise > {}",
            shared_huge_pages);
    return "";
}

// Builds the record of a metric's verdict.
VerdictRecord record_of(const MetricResult& one, const CompareOptions& options,
                        double launch_seconds) {
    VerdictRecord record = record_of(one.metric.name, one.judgement, options.plan.rule);
    record.a_ns = one.a_ns();
    record.b_ns = one.b_ns();
    record.stage = one.stage;
    record.nranks = options.ranks;
    if (!one.launches.empty())
        record.unit = one.launches.front().unit;
    else if (!options.times_are_ns)
        record.unit.clear();
    record.to_decide = to_decide(one.judgement, options.plan.rule, launch_seconds);
    if (!record.to_decide.empty() && !is_mean(record))
        record.to_decide += other_advice(record, options);
    return record;
}

ComparisonRecords records_of(const ComparisonResult& result, const CompareOptions& options,
                             const Session& session) {
    ComparisonRecords records{.session = session,
                              .wrong = result.wrong,
                              .file = options.run.results_file(),
                              .wall_ns = static_cast<std::int64_t>(result.seconds * 1e9)};
    for (const MetricResult& one : result.metrics)
        for (std::size_t i = 0; i < one.launches.size(); ++i)
            records.pairs.push_back({.launch = static_cast<int>(i) + 1,
                                     .stage = one.stage,
                                     .metric = one.metric.name,
                                     .seen = one.launches[i]});
    std::vector<MetricResult> all = result.metrics;
    if (result.mean) all.push_back(*result.mean);
    for (const MetricResult& one : all)
        records.verdicts.push_back(record_of(one, options, result.launch_seconds));
    return records;
}

std::set<std::string> slower_ones(const ComparisonResult& result) {
    std::set<std::string> metrics;
    for (const MetricResult& one : result.metrics)
        if (one.judgement.change == Change::slower) metrics.insert(one.metric.name);
    return metrics;
}

void write_views(const ComparisonRecords& records, const CompareOptions& options) {
    for (const auto& [view, file] : options.written) {
        const std::string text = view->text(records);
        if (file == "-")
            fmt::print("{}", text);
        else
            replace_file(file, text, fmt::format("the view {}", view->name));
    }
}

// Returns the exit code. A comparison that could not decide anything must not look like one without
// changes.
Exit exit_of(const ComparisonRecords& records, const std::set<Change>& fail_on) {
    if (!records.wrong.empty()) return Exit::wrong_result;
    if (any_missed(records)) return Exit::regression;
    if (records.verdicts.empty() && !records.floors.empty()) return Exit::ok;
    bool is_decidable = false;
    std::set<Change> found;
    for (const VerdictRecord& verdict : records.verdicts) {
        if (is_mean(verdict)) continue;
        found.insert(verdict.verdict);
        is_decidable = is_decidable || verdict.high > 0;
    }
    if (!is_decidable) {
        std::cerr << (found.empty() ? fmt::format("tutti: {}\n", nothing_compared)
                      : records.verdicts.front().method == Pairing::stored
                          ? "tutti: too few launches for a verdict: " +
                                records.verdicts.front().rule + "\n"
                          : "tutti: too few launches for a verdict; use a larger --budget or fewer "
                            "sizes\n");
        return Exit::not_comparable;
    }
    const auto fails = [&](Change change) {
        return fail_on.contains(change) && found.contains(change);
    };
    if (fails(Change::slower) || fails(Change::faster) || fails(Change::same))
        return Exit::regression;
    return fails(Change::undecided) ? Exit::not_comparable : Exit::ok;
}

ComparisonFile file_of(const CompareOptions& options) {
    const auto world = world_of_one();
    const Session session = describe_session(*world, options.run, 0);
    const bool has_file = !options.run.results_file().empty();
    return {options.run.results_file(), session,
            has_file ? describe_launch(*world, session.id) : Launch{}};
}

// Appends each launch to the file when it ends.
ComparisonEvents events_into(ComparisonFile& file) {
    return {.progress =
                [&file](const std::string& text) {
                    announce_kept(file.kept_text());
                    show_on_last_line(text);
                },
            .after_launch = [&file](const StagedLaunch& launch) { file.append(launch); }};
}

void print_missing(const std::map<std::string, std::string>& missing) {
    for (const auto& [metric, why] : missing) fmt::print("# not compared: {}: {}\n", metric, why);
}

std::string launches_line(int launches, const char* of, double seconds, bool ran_out) {
    return fmt::format("# {} launches of {} in {:.1f} s{}\n", launches, of, seconds,
                       ran_out ? " (--budget reached; a larger one decides more)" : "");
}

// Returns the times that --at-least and --at-most are checked against, if A has all calls of B.
std::vector<TimeOfCall> calls_of(const std::vector<VerdictRecord>& verdicts) {
    std::vector<TimeOfCall> calls;
    for (const VerdictRecord& verdict : verdicts)
        if (is_in_ns(verdict) && !is_mean(verdict))
            calls.push_back({verdict.metric, verdict.b_ns, verdict.nranks});
    return calls;
}

// Ends every comparison: prints the table, stores records, writes views, returns the exit code.
// `file` is null if everything is stored already.
Exit report(ComparisonRecords records, const CompareOptions& options, ComparisonFile* file,
            const std::vector<TimeOfCall>& calls, const std::string& last_line) {
    std::optional<Error> about_nothing;
    if (!options.floors.empty()) try {
            records.floors = hold_against(options.floors, calls);
        } catch (const Error& error) {  // the other results are still stored
            about_nothing = error;
        }
    const bool is_view_alone =
        file == nullptr && std::ranges::any_of(options.written, [](const auto& written) {
            return written.second == "-";
        });
    if (!is_view_alone) fmt::print("{}{}{}", as_table(records), last_line, in_text(records.growth));
    if (file != nullptr) file->end(records);
    write_views(records, options);
    if (options.explains) fmt::print("{}", explained(records, options.explained));
    if (about_nothing) {
        if (records.wrong.empty()) throw *about_nothing;
        std::cerr << "tutti: " << about_nothing->what() << "\n";
    }
    return exit_of(records, options.fail_on);
}

Exit compare_with_stored(const CompareOptions& options) {
    const std::int64_t began_ns = now_ns();
    const BaselineResult result =
        compare_with(*options.baseline, options.plan.rule, [](const std::string& text) {
            announce_kept("no verdict yet; a comparison with a stored baseline cannot be resumed");
            show_on_last_line(text);
        });
    show_on_last_line("");
    ComparisonFile file = file_of(options);
    file.append(result.compared.pairs);
    fmt::print("# tutti {}\n", version());
    if (!result.a.empty()) fmt::print("# A: {}\n", result.a);
    fmt::print("# B: {}\n", result.b);
    print_missing(result.compared.missing);
    const double seconds = seconds_since(began_ns);
    const ComparisonRecords records{.session = file.session(),
                                    .pairs = result.compared.pairs,
                                    .verdicts = result.compared.verdicts,
                                    .wrong = result.compared.wrong,
                                    .file = options.run.results_file(),
                                    .wall_ns = static_cast<std::int64_t>(seconds * 1e9)};
    return report(
        records, options, &file, result.calls,
        result.launches == 0 ? "" : launches_line(result.launches, "B", seconds, result.ran_out));
}

// Returns the launches of a second stage that the budget allows, at the time that these took.
int launches_in_budget(const ComparisonResult& result, const ComparisonPlan& plan) {
    const double all = plan.budget_seconds * result.launches / result.seconds;
    return static_cast<int>(std::min<double>(all - plan.first_launches, plan.most_launches));
}

// Returns the line that says what this machine can do, by the metric that varies most.
std::string smallest_change_line(const ComparisonResult& result, const ComparisonPlan& plan) {
    const int launches = launches_in_budget(result, plan);
    const Rule rule = rule_of_look(plan.rule, 1, false);
    double largest = 0;
    const std::string* metric = nullptr;
    for (const MetricResult& one : result.metrics) {
        const auto change = smallest_change(one.metric, launches, rule);
        if (!change)
            return fmt::format(
                "# no change can be detected: {} launches fit into a second stage within {:g} s; "
                "use a larger --budget\n",
                std::max(launches, 0), plan.budget_seconds);
        if (*change < largest && metric != nullptr) continue;
        largest = *change;
        metric = &one.metric.name;
    }
    return fmt::format(
        "# within {:g} s ({} launches) a change of {:.2g} % is detected nine times of ten, with "
        "--min-effect {:.2g}% ({})\n",
        plan.budget_seconds, launches, 100 * largest, 50 * largest, *metric);
}

// Compares A against itself, in windows as long as the second stage of a comparison.
Exit compare_the_same(const CompareOptions& options) {
    ComparisonPlan plan = options.plan;
    const Rule rule = rule_of_look(plan.rule, 1, false);
    plan.first_launches = options.launches_of_same;
    plan.most_launches = 0;
    plan.budget_seconds = 1e9;
    ComparisonFile file = file_of(options);
    const ComparisonResult result = compare(options.launch, plan, events_into(file));
    show_on_last_line("");
    print_missing(result.missing);
    for (const std::string& wrong : result.wrong) fmt::print("# WRONG: {}\n", wrong);
    if (!result.wrong.empty()) {
        file.end(records_of(result, options, file.session()));
        return Exit::wrong_result;
    }
    if (result.metrics.empty()) {
        std::cerr << "tutti: " << nothing_compared << "\n";
        file.end(records_of(result, options, file.session()));
        return Exit::not_comparable;
    }
    std::size_t width = 6;
    for (const MetricResult& one : result.metrics) width = std::max(width, one.metric.name.size());
    fmt::print(
        "# A against itself: {}\n# {}; {} launches of both in {:.1f} s\n# {:<{}} {:>9} {:>9} {:>9} "
        " {}\n",
        options.a, options.what, result.launches, result.seconds, "metric", width, "spread",
        "alarms", "noise", "launches needed to detect a change of 2.5 %, 5 %, 10 %");
    int alarms = 0, windows = 0;
    for (const MetricResult& one : result.metrics) {
        int of_metric = 0;
        const auto& changes = one.metric.changes;
        const auto window = static_cast<std::size_t>(options.plan.second_launches);
        for (std::size_t first = 0; first + window <= changes.size(); first += window) {
            const auto part = [&](const std::vector<double>& all) {
                return std::vector(all.begin() + static_cast<long>(first),
                                   all.begin() + static_cast<long>(first + window));
            };
            const ComparedMetric metric{.changes = part(changes),
                                        .noise_of_a = part(one.metric.noise_of_a),
                                        .noise_of_b = part(one.metric.noise_of_b)};
            const Change change = judge(std::vector{metric}, rule).front().change;
            of_metric += change == Change::slower || change == Change::faster ? 1 : 0;
            ++windows;
        }
        alarms += of_metric;
        std::vector<double> sizes;
        for (const double change : changes) sizes.push_back(std::abs(change));
        std::string needed;
        for (const double wished : {0.025, 0.05, 0.1}) {
            const auto launches = launches_for(one.metric, wished, rule);
            needed += fmt::format(" {:>6}", launches ? std::to_string(*launches) : "-");
        }
        fmt::print("  {:<{}} {:>9} {:>9} {:>9}  {}\n", one.metric.name, width,
                   fmt::format("{:.1f} %", 100 * std::expm1(1.4826 * median(sizes))), of_metric,
                   fmt::format("{:.1f} %", 100 * std::expm1(one.judgement.noise)), needed);
    }
    fmt::print(
        "# {} false alarms in {} comparisons of {} launches each (per metric); spread: of B/A "
        "between launches\n",
        alarms, windows, options.plan.second_launches);
    if (windows == 0)
        fmt::print("# fewer launches than one comparison needs: use --aa {} or more\n",
                   options.plan.second_launches);
    fmt::print("{}", smallest_change_line(result, options.plan));
    file.end(records_of(result, options, file.session()));
    return Exit::ok;
}

}  // namespace

Exit run_compare(const Arguments& arguments) {
    auto options = parse_compare(arguments);
    if (!options) return Exit::ok;
    if (options->run.resumed) {
        for (Pair& pair : options->run.resumed->pairs)  // older versions named calls without ranks
            pair.metric = with_ranks(pair.metric, options->ranks);
        options->plan.known = launches_of(options->run.resumed->pairs);
    }
    if (!options->stored.empty()) {
        const ComparisonRecords records = stored_comparison(options->stored);
        return report(records, *options, nullptr, calls_of(records.verdicts), "");
    }
    if (launcher().is_there())
        throw Error("compare starts the ranks itself; run it without " + launcher().name);
    if (options->baseline) return compare_with_stored(*options);
    if (options->launches_of_same > 0) return compare_the_same(*options);
    ComparisonFile file = file_of(*options);
    const ComparisonResult result = compare(options->launch, options->plan, events_into(file));
    show_on_last_line("");
    fmt::print("# tutti {}\n# A: {}\n# B: {}\n# {}\n", version(), options->a, options->b,
               options->what);
    print_missing(result.missing);
    ComparisonRecords records = records_of(result, *options, file.session());
    if (options->attributed) {
        try {
            const auto by_steps = [&](const WantedMetrics& wanted) {
                return options->attributed->by_steps(wanted);
            };
            Attribution attribution = attribute(by_steps, slower_ones(result), show_on_last_line);
            for (const auto& [metric, why] : attribution.missing)
                fmt::print("# {}: its steps were not measured: {}\n", metric, why);
            records.growth = std::move(attribution.metrics);
        } catch (const Error& error) {  // the verdicts are not affected
            fmt::print("# the steps were not measured: {}\n", error.what());
        }
        show_on_last_line("");
    }
    return report(records, *options, &file, calls_of(records.verdicts),
                  launches_line(result.launches, "both", result.seconds, result.ran_out));
}

}  // namespace tutti
