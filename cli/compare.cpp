// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <iostream>

#include "base/replace_file.hpp"
#include "cli/build_info.hpp"
#include "cli/compare/attribution.hpp"
#include "cli/options/compare_options.hpp"
#include "cli/provenance.hpp"
#include "cli/ranks/interruption.hpp"
#include "results/reader.hpp"
#include "results/statistics.hpp"
#include "results/store.hpp"
#include "results/views/view_words.hpp"

namespace tutti {
namespace {

// "+4.3 %" of a ratio's logarithm.
std::string in_percent(double logarithm) {
    return std::isinf(logarithm) ? "?" : fmt::format("{:+.1f} %", 100 * std::expm1(logarithm));
}

std::string interval_of(const Shift& shift) {
    if (std::isinf(shift.low)) return "too few launches";
    return in_percent(shift.low) + " .. " + in_percent(shift.high);
}

std::string visible_of(const Judgement& judgement) {
    return std::isinf(judgement.visible) ? "?" : fmt::format("{:.1f} %", 100 * judgement.visible);
}

// Of times in ns as of numbers of a program, whose unit is its own.
std::string time_of(double value) {
    return value >= 100'000 ? fmt::format("{:.0f}", value) : fmt::format("{:.5g}", value);
}

class VerdictTable {
public:
    VerdictTable(const ComparisonResult& result, bool in_microseconds)
        : scale_(in_microseconds ? 1e-3 : 1) {
        width_ = 6;
        for (const MetricResult& one : result.metrics)
            width_ = std::max(width_, one.metric.name.size());
        const char* unit = in_microseconds ? " (us)" : "";
        text_ = fmt::format("# {:<{}} {:>10} {:>10} {:>9}  {:<20} {:>7} {:>9}  {}\n", "metric",
                            width_, fmt::format("A{}", unit), fmt::format("B{}", unit), "change",
                            "98 % interval", "noise", "seen from", "verdict");
        for (const MetricResult& one : result.metrics) add(one);
        if (result.mean) add(*result.mean);
    }

    const std::string& text() const { return text_; }

private:
    void add(const MetricResult& one) {
        const bool has_times = !one.launches.empty();
        text_ +=
            fmt::format("  {:<{}} {:>10} {:>10} {:>9}  {:<20} {:>7} {:>9}  {}\n", one.metric.name,
                        width_, has_times ? time_of(one.a_ns() * scale_) : "",
                        has_times ? time_of(one.b_ns() * scale_) : "",
                        in_percent(one.judgement.shift.estimate), interval_of(one.judgement.shift),
                        fmt::format("{:.1f} %", 100 * std::expm1(one.judgement.noise)),
                        visible_of(one.judgement), name_of(one.judgement.change));
    }

    double scale_;
    std::size_t width_;
    std::string text_;
};

void explain(const ComparisonResult& result, const std::string& part, double confidence) {
    bool is_known = false;
    for (const MetricResult& one : result.metrics) {
        if (one.metric.name.find(part) == std::string::npos) continue;
        is_known = true;
        const Judgement& judgement = one.judgement;
        fmt::print("#\n# {}: {}, because {}\n", one.metric.name, name_of(judgement.change),
                   judgement.reason);
        fmt::print(
            "#   {} launches of stage {}; p = {:.4f} after adjusting for all metrics; "
            "intervals of {:.0f} %\n",
            one.launches.size(), one.stage, judgement.adjusted_p, 100 * confidence);
        fmt::print("#   {:>6} {:>9} {:>9} {:>9}  {}\n", "launch", "B/A", "A/A", "B/B",
                   "B/A of each round A B B A, or B A A B");
        for (std::size_t i = 0; i < one.launches.size(); ++i) {
            const LaunchOfMetric& launch = one.launches[i];
            std::string quads;
            for (const double quad : launch.quads) quads += " " + in_percent(quad);
            fmt::print("#   {:>6} {:>9} {:>9} {:>9} {}\n", i + 1, in_percent(launch.change),
                       in_percent(launch.noise_a), in_percent(launch.noise_b), quads);
        }
    }
    if (!is_known)
        throw Error("--explain '" + part + "' is part of no metric's name; the table names them");
}

// What the records say of a metric.
VerdictRecord record_of(const MetricResult& one, const Rule& rule) {
    const Judgement& judgement = one.judgement;
    VerdictRecord record{.metric = one.metric.name,
                         .verdict = judgement.change,
                         .ratio = std::exp(judgement.shift.estimate),
                         .confidence = rule.confidence,
                         .p = judgement.adjusted_p,
                         .noise = std::expm1(judgement.noise),
                         .a_ns = one.a_ns(),
                         .b_ns = one.b_ns(),
                         .launches = static_cast<int>(judgement.shift.n),
                         .stage = one.stage,
                         .rule = judgement.reason};
    if (!std::isinf(judgement.shift.low)) {
        record.low = std::exp(judgement.shift.low);
        record.high = std::exp(judgement.shift.high);
    }
    if (!std::isinf(judgement.visible)) record.visible = judgement.visible;
    return record;
}

ComparisonRecords records_of(const ComparisonResult& result, const CompareOptions& options) {
    const auto world = world_of_one();
    ComparisonRecords records{.session = describe_session(*world, options.run, 0),
                              .wrong = result.wrong,
                              .file = options.run.results_file()};
    for (const MetricResult& one : result.metrics)
        for (std::size_t i = 0; i < one.launches.size(); ++i)
            records.pairs.push_back({.session = records.session.id,
                                     .launch = static_cast<int>(i) + 1,
                                     .stage = one.stage,
                                     .metric = one.metric.name,
                                     .seen = one.launches[i]});
    std::vector<MetricResult> all = result.metrics;
    if (result.mean) all.push_back(*result.mean);
    for (const MetricResult& one : all) {
        VerdictRecord& record = records.verdicts.emplace_back(record_of(one, options.plan.rule));
        record.session = records.session.id;
        if (!options.times_are_ns) record.unit.clear();
    }
    return records;
}

void keep(const ComparisonRecords& records, const ComparisonResult& result) {
    if (records.file.empty()) return;
    Store store(records.file);
    store.append(records.session);
    store.append(describe_launch(*world_of_one(), records.session.id));
    for (const Pair& pair : records.pairs) store.append(pair);
    for (const VerdictRecord& verdict : records.verdicts) store.append(verdict);
    for (const std::string& wrong : records.wrong)
        store.append(Fail{.session = records.session.id,
                          .phase = "compare",
                          .what = "check",
                          .stderr_tail = wrong});
    store.append(End{.session = records.session.id,
                     .ok = result.wrong.empty(),
                     .wall_ns = static_cast<std::int64_t>(result.seconds * 1e9)});
}

void keep(const Attribution& attribution, const ComparisonRecords& records) {
    if (records.file.empty() || attribution.metrics.empty()) return;
    Store store(records.file);
    for (StepGrowth times : attribution.metrics) {
        times.session = records.session.id;
        store.append(times);
    }
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

// What the file's last comparison said.
ComparisonRecords stored_comparison(const std::string& file) {
    const Results results = read_results(std::filesystem::path(file));
    ComparisonRecords records{.file = file};
    for (const Session& one : results.sessions)
        if (one.argv.size() > 1 && one.argv[1] == "compare") records.session = one;
    if (records.session.id.empty())
        throw Error("'" + file +
                    "' holds no comparison; type a file that 'tutti compare --json' wrote");
    const auto is_of_it = [&](const auto& record) { return record.session == records.session.id; };
    std::ranges::copy_if(results.pairs, std::back_inserter(records.pairs), is_of_it);
    std::ranges::copy_if(results.verdicts, std::back_inserter(records.verdicts), is_of_it);
    for (const Fail& fail : results.fails)
        if (is_of_it(fail) && fail.what == "check") records.wrong.push_back(fail.stderr_tail);
    return records;
}

std::map<Change, int> counts_of(const ComparisonResult& result) {
    std::map<Change, int> counts;
    for (const MetricResult& one : result.metrics) ++counts[one.judgement.change];
    return counts;
}

std::string in_one_line(const ComparisonResult& result) {
    std::string line;
    for (const auto& [change, count] : counts_of(result))
        line += fmt::format("{}{} {}", line.empty() ? "" : ", ", count, name_of(change));
    return fmt::format(
        "# {} metrics: {}; {} launches of both in {:.1f} s{}\n", result.metrics.size(), line,
        result.launches, result.seconds,
        result.ran_out ? " (the budget ended it: a larger --budget decides more)" : "");
}

// Says so where nothing could be decided, which must not look like nothing that changed.
Exit exit_of(const ComparisonRecords& records, const std::set<Change>& fail_on) {
    if (!records.wrong.empty()) return Exit::wrong_result;
    bool is_decidable = false;
    std::set<Change> found;
    for (const VerdictRecord& verdict : records.verdicts) {
        if (is_mean(verdict)) continue;
        found.insert(verdict.verdict);
        is_decidable = is_decidable || verdict.high > 0;
    }
    if (!is_decidable) {
        std::cerr << (found.empty()
                          ? "tutti: nothing could be compared: the lines '# not compared' "
                            "say why\n"
                          : "tutti: too few launches for any verdict; type a larger "
                            "--budget, or let both measure less\n");
        return Exit::not_comparable;
    }
    const auto fails = [&](Change change) {
        return fail_on.contains(change) && found.contains(change);
    };
    if (fails(Change::slower) || fails(Change::faster) || fails(Change::same))
        return Exit::regression;
    return fails(Change::undecided) ? Exit::not_comparable : Exit::ok;
}

// How far it is, on a terminal's last line.
void tell(const std::string& text) {
    announce_kept("nothing was kept; a comparison begins anew: run the same command");
    if (::isatty(STDERR_FILENO) != 0) std::cerr << "\r\x1b[K" << text << std::flush;
}

void print_missing(const ComparisonResult& result) {
    for (const auto& [metric, why] : result.missing)
        fmt::print("# not compared: {}: {}\n", metric, why);
    for (const std::string& wrong : result.wrong) fmt::print("# WRONG: {}\n", wrong);
}

// A against itself, in windows of the launches that a comparison's first stage has.
Exit compare_the_same(const CompareOptions& options) {
    ComparisonPlan plan = options.plan;
    plan.first_launches = options.launches_of_same;
    plan.most_launches = 0;
    plan.budget_seconds = 1e9;
    const ComparisonResult result = compare(options.launch, plan, tell);
    tell("");
    print_missing(result);
    if (!result.wrong.empty()) return Exit::wrong_result;
    std::size_t width = 6;
    for (const MetricResult& one : result.metrics) width = std::max(width, one.metric.name.size());
    fmt::print(
        "# A against itself: {}\n# {}; {} launches of both in {:.1f} s\n"
        "# {:<{}} {:>9} {:>9} {:>9}  {}\n",
        options.a, options.what, result.launches, result.seconds, "metric", width, "spread",
        "alarms", "noise", "launches that a change of 2.5 %, 5 %, 10 % needs");
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
            const Change change = judge(std::vector{metric}, plan.rule).front().change;
            of_metric += change == Change::slower || change == Change::faster ? 1 : 0;
            ++windows;
        }
        alarms += of_metric;
        std::vector<double> sizes;
        for (const double change : changes) sizes.push_back(std::abs(change));
        std::string needed;
        for (const double wished : {0.025, 0.05, 0.1}) {
            const auto launches = launches_for(one.metric, wished, plan.rule);
            needed += fmt::format(" {:>6}", launches ? std::to_string(*launches) : "-");
        }
        fmt::print("  {:<{}} {:>9} {:>9} {:>9}  {}\n", one.metric.name, width,
                   fmt::format("{:.1f} %", 100 * std::expm1(1.4826 * median(sizes))), of_metric,
                   fmt::format("{:.1f} %", 100 * std::expm1(one.judgement.noise)), needed);
    }
    fmt::print(
        "# {} false alarms in {} comparisons of {} launches each (a metric of one of them); "
        "spread: of a launch's B/A\n",
        alarms, windows, options.plan.second_launches);
    if (windows == 0)
        fmt::print("# no whole comparison: type --aa {} or more\n", options.plan.second_launches);
    keep(records_of(result, options), result);
    return Exit::ok;
}

}  // namespace

Exit run_compare(const Arguments& arguments) {
    const auto options = parse_compare(arguments);
    if (!options) return Exit::ok;
    if (!options->stored.empty()) {
        const ComparisonRecords records = stored_comparison(options->stored);
        write_views(records, *options);
        return exit_of(records, options->fail_on);
    }
    if (launcher().is_there())
        throw Error("compare starts the ranks itself; type it without " + launcher().name);
    if (options->launches_of_same > 0) return compare_the_same(*options);
    const ComparisonResult result = compare(options->launch, options->plan, tell);
    tell("");
    fmt::print("# tutti {}\n# A: {}\n# B: {}\n# {}\n", version(), options->a, options->b,
               options->what);
    print_missing(result);
    if (!result.metrics.empty())
        fmt::print("{}", VerdictTable(result, options->times_are_ns).text());
    fmt::print("{}", in_one_line(result));
    const ComparisonRecords records = records_of(result, *options);
    keep(records, result);
    if (options->attributed) {
        const Attribution attribution = attribute(*options->attributed, slower_ones(result), tell);
        tell("");
        fmt::print("{}", in_text(attribution));
        keep(attribution, records);
    }
    write_views(records, *options);
    if (options->explains) explain(result, options->explained, options->plan.rule.confidence);
    return exit_of(records, options->fail_on);
}

}  // namespace tutti
