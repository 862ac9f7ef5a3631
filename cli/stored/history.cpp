// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>
#include <filesystem>
#include <set>
#include <span>
#include <sstream>

#include "base/output.hpp"
#include "cli/options/options.hpp"
#include "cli/script.hpp"
#include "results/history/series.hpp"
#include "results/views/view_words.hpp"

namespace tutti {
namespace {

struct HistoryOptions {
    std::string metric, database, picture, machine;
    Arguments files;
    ChangeTest test;
    bool as_json = false;
};

void check_options(const HistoryOptions& options) {
    if (options.files.empty() == options.database.empty())
        throw Error(
            "use either results files or --db, as in tutti history 'all_reduce 1M' *.jsonl");
    const auto form = std::filesystem::path(options.picture).extension();
    if (!options.picture.empty() && form != ".svg" && form != ".png")
        throw Error("-o '" + options.picture + "' is neither .svg nor .png");
    if (std::isnan(options.test.level)) throw Error("--level nan is not a number");
    if (options.test.level * (options.test.permutations + 1) < 1)
        throw Error(fmt::format("{} permutations are too few for --level {}; use --permutations {}",
                                options.test.permutations, options.test.level,
                                std::ceil(1 / options.test.level) - 1));
}

// A script reads the database, as it is one of SQLite.
Results stored_results(const HistoryOptions& options) {
    if (!options.database.empty()) {
        std::istringstream records(printed_by_script(
            "results.py", {"records", "--db=" + options.database, "--", options.metric}));
        return read_results(records, options.database);
    }
    Results all;
    for (const std::string& file : options.files)
        append(all, read_results(std::filesystem::path(file)));
    return all;
}

// Texts come from files.
void say(const std::string& line) { fmt::print("{}\n", in_line(line)); }

void print_others(const Series& shown, std::span<const Series> all) {
    if (all.size() < 2) return;
    say(fmt::format("not shown: {} (machine and settings) with this metric{}",
                    counted(std::ssize(all) - 1, "other fingerprint"),
                    shown.fingerprint == all.front().fingerprint ? "; this is the newest" : ""));
    std::size_t most = 5;
    for (const Series& other : all) {
        if (other.fingerprint == shown.fingerprint || most == 0) continue;
        --most;
        auto fields = differences(shown, other);
        fields.resize(std::min<std::size_t>(fields.size(), 4));
        say(fmt::format("  --machine {}  launches until {}: {}; other {}", other.fingerprint,
                        other.launches.back().t.substr(0, 10), other.launches.size(),
                        fmt::join(fields, ", ")));
    }
}

std::string time_without_zone(const std::string& t) {
    std::string time = t.substr(0, std::string_view("0000-00-00T00:00:00").size());
    std::ranges::replace(time, 'T', ' ');
    return time;
}

void print_launches(const Series& series, std::span<const SeriesChange> changes) {
    std::set<std::size_t> firsts;
    for (const SeriesChange& change : changes) firsts.insert(change.point.first);
    std::size_t width = std::string_view("commit").size();
    for (const SeriesLaunch& launch : series.launches)
        width = std::max(width, launch.commit.size());
    std::vector<std::string> numbers;
    std::size_t number_width = 9;
    for (const SeriesLaunch& launch : series.launches) {
        numbers.push_back(number_in_words(launch.ns, series.unit));
        number_width = std::max(number_width, numbers.back().size());
    }
    say(fmt::format("  {:<19}  {:<{}}  {:>{}}", "launch", "commit", width,
                    series.unit == "ns" ? "time" : "number", number_width));
    for (std::size_t i = 0; i < series.launches.size(); ++i) {
        const SeriesLaunch& launch = series.launches[i];
        say(fmt::format("  {:<19}  {:<{}}  {:>{}}{}", time_without_zone(launch.t), launch.commit,
                        width, numbers[i], number_width, firsts.contains(i) ? "  <- change" : ""));
    }
}

void print_changes(const Series& series, std::span<const SeriesChange> changes,
                   const ChangeTest& test) {
    const std::size_t launches = series.launches.size();
    if (launches < 2 * least_beside_change) {
        say(fmt::format("too few launches for a change point ({}): {} are needed on each side",
                        launches, least_beside_change));
        return;
    }
    say(
        fmt::format("{} in {} launches (E-divisive, level {}, {} permutations, seed {}; "
                    "information, no verdict: use tutti compare for one)",
                    counted(std::ssize(changes), "change point"), launches, test.level,
                    test.permutations, test.seed));
    for (const SeriesChange& change : changes) {
        std::vector<std::string> facts;
        for (const auto& [name, before, after] : change.facts)
            facts.push_back(fmt::format("{} {} -> {}", name, before, after));
        if (facts.empty()) facts.emplace_back("none in the records");
        say(fmt::format("  {}: {} -> {} ({}), p = {:.3g}; changed facts: {}",
                        time_without_zone(series.launches[change.point.first].t),
                        number_in_words(change.before_ns, series.unit),
                        number_in_words(change.after_ns, series.unit),
                        change_in_words(std::log(change.after_ns / change.before_ns)),
                        change.point.p, fmt::join(facts, ", ")));
    }
}

const Series& chosen(std::span<const Series> all, const std::string& machine) {
    std::vector<std::string> known;
    for (const Series& series : all) {
        if (series.fingerprint.starts_with(machine)) return series;
        known.push_back(series.fingerprint);
    }
    throw Error(
        fmt::format("no machine begins with '{}'; use one of: {}", machine, fmt::join(known, " ")));
}

}  // namespace

Exit run_history(const Arguments& arguments) {
    HistoryOptions options;
    CLI::App app{
        "Shows one metric over the launches of one machine and configuration, and where it "
        "changed. For a verdict use 'tutti compare'.",
        "tutti history"};
    app.add_option("metric", options.metric,
                   "Metric as named by 'tutti compare', or a part of its name")
        ->required();
    app.add_option("files", options.files, "Results files written by --json");
    app.add_option("--db", options.database,
                   "Database of 'tutti results import', instead of files");
    app.add_option("-o,--output", options.picture, "Plot file: FILE.svg or FILE.png");
    app.add_flag("--json", options.as_json,
                 "Print a JSON object with all launches, change points and other machines");
    app.add_option("--machine", options.machine,
                   "Fingerprint of machine and configuration as printed, or its beginning "
                   "(default: that of the newest launch)");
    app.add_option("--level", options.test.level,
                   "Significance level: the share of false change points")
        ->capture_default_str()
        ->check(CLI::Range(0.0001, 0.5));
    app.add_option("--permutations", options.test.permutations,
                   "Number of permutations of the test")
        ->capture_default_str()
        ->check(CLI::Range(9, 1'000'000));
    app.add_option("--seed", options.test.seed, "Seed for the permutations")->capture_default_str();
    if (parse_or_help(app, arguments)) return Exit::ok;
    check_options(options);

    const Results results = stored_results(options);
    for (const std::string& warning : results.warnings)
        fmt::print(stderr, "tutti: {}\n", in_line(warning));
    const std::vector<Series> all = series_of(results, options.metric);
    const Series& series = chosen(all, options.machine);
    const auto changes = changes_of(series, options.test);
    const std::string json = one_line(to_json(series, changes, options.test, all));
    if (!options.picture.empty())
        write_file(options.picture, drawn("history", json, options.picture), "--output");
    if (options.as_json) {
        fmt::print("{}\n", json);
        return Exit::ok;
    }
    say(series.metric);
    say(fmt::format("machine {}: {}", series.fingerprint, series.words));
    print_others(series, all);
    print_launches(series, changes);
    print_changes(series, changes, options.test);
    if (!options.picture.empty()) say("history: " + options.picture);
    return Exit::ok;
}

}  // namespace tutti
