// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "base/error.hpp"
#include "results/views/view_words.hpp"
#include "results/views/views.hpp"

namespace tutti {
namespace {

// Formats times and the numbers of programs, which have their own unit.
std::string number_in_column(double value) {
    return value >= 100'000 ? fmt::format("{:.0f}", value) : fmt::format("{:.5g}", value);
}

std::string cell_of_time(double value, const VerdictRecord& verdict) {
    if (value == 0) return "";
    return number_in_column(is_in_ns(verdict) ? value / 1000 : value);
}

// Returns the unit of the numbers in a table; empty if none was printed.
std::string shown_unit(const VerdictRecord& verdict) {
    return is_in_ns(verdict) ? "us" : in_line(verdict.unit);
}

std::string table_of_verdicts(const std::vector<VerdictRecord>& verdicts) {
    std::size_t width = 6;
    for (const VerdictRecord& one : verdicts) width = std::max(width, name_in_views(one).size());
    const VerdictRecord& first = verdicts.front();
    // One unit stands in the head, several stand with their numbers.
    const bool is_mixed = std::ranges::any_of(verdicts, [&](const VerdictRecord& one) {
        return !is_mean(one) && one.unit != first.unit;
    });
    const std::string head = shown_unit(first);
    const std::string unit = is_mixed || head.empty() ? "" : " (" + head + ")";
    const auto cell = [&](double value, const VerdictRecord& one) {
        const std::string text = cell_of_time(value, one), own = shown_unit(one);
        return is_mixed && !text.empty() && !own.empty() ? text + " " + own : text;
    };
    const auto line = [&](const auto&... cells) {
        return fmt::format("{} {:<{}} {:>10} {:>10} {:>9}  {:<20} {:>7} {:>9}  {}\n", cells...);
    };
    std::string text = line(
        "#", "metric", width, fmt::format("A{}", unit), fmt::format("B{}", unit), "change",
        fmt::format("{:.0f} % interval", 100 * first.confidence), "noise", "seen from", "verdict");
    for (const VerdictRecord& one : verdicts)
        text +=
            line(" ", in_line(name_in_views(one)), width, cell(one.a_ns, one), cell(one.b_ns, one),
                 change_in_words(one), interval_in_words(one), noise_in_words(one),
                 one.visible == 0 ? "?" : size_in_words(one.visible), name_of(one.verdict));
    return text;
}

std::string counts_of(const std::vector<VerdictRecord>& verdicts) {
    std::map<Change, int> counts;
    int metrics = 0;
    for (const VerdictRecord& verdict : verdicts) {
        if (is_mean(verdict)) continue;
        ++metrics;
        ++counts[verdict.verdict];
    }
    std::vector<std::string> parts;
    for (const auto& [change, count] : counts)
        parts.push_back(fmt::format("{} {}", count, name_of(change)));
    return fmt::format("# {} metrics: {}\n", metrics, fmt::join(parts, ", "));
}

// Lists the launches of a metric that was measured by turns.
std::string launches_by_turns(const std::vector<LaunchOfMetric>& launches) {
    std::string text = fmt::format("#   {:>6} {:>9} {:>9} {:>9}  {}\n", "launch", "B/A", "A/A",
                                   "B/B", "B/A of each round A B B A, or B A A B");
    int number = 0;
    for (const LaunchOfMetric& launch : launches) {
        std::string quads;
        for (const double quad : launch.quads) quads += fmt::format(" {}", change_in_words(quad));
        text += fmt::format("#   {:>6} {:>9} {:>9} {:>9} {}\n", ++number,
                            change_in_words(launch.change), change_in_words(launch.noise_a),
                            change_in_words(launch.noise_b), quads);
    }
    return text;
}

std::string stored_launches(const std::vector<LaunchOfMetric>& launches,
                            const VerdictRecord& verdict) {
    std::string text = fmt::format("#   {:>6} {:>10} {:>10}\n", "launch", "A", "B");
    int number = 0;
    for (const LaunchOfMetric& launch : launches)
        text += fmt::format("#   {:>6} {:>10} {:>10}\n", ++number,
                            cell_of_time(launch.a_ns, verdict), cell_of_time(launch.b_ns, verdict));
    return text;
}

}  // namespace

std::string as_table(const ComparisonRecords& comparison) {
    std::string text;
    for (const std::string& wrong : comparison.wrong)
        text += fmt::format("# WRONG: {}\n", in_line(wrong));
    if (!comparison.verdicts.empty()) {
        text += table_of_verdicts(comparison.verdicts) + counts_of(comparison.verdicts);
        for (const std::string& line : cautions(comparison)) text += "# " + in_line(line) + "\n";
    }
    for (const FloorRecord& floor : comparison.floors)
        text +=
            fmt::format("# {}: {}\n", floor.met ? "met" : "MISSED", in_line(floor_in_words(floor)));
    return text;
}

std::string explained(const ComparisonRecords& comparison, const std::string& part) {
    std::string text;
    for (const VerdictRecord& one : comparison.verdicts) {
        if (is_mean(one) || one.metric.find(part) == std::string::npos) continue;
        const bool is_by_turns = one.method == Pairing::by_turns;
        std::vector<LaunchOfMetric> launches;
        for (const Pair& pair : comparison.pairs)
            if (pair.metric == one.metric) launches.push_back(pair.seen);
        text += fmt::format(
            "#\n# {}: {}, because {}\n"
            "#   {} launches{}; p = {:.4f} after adjusting for all metrics; "
            "intervals of {:.0f} %\n",
            in_line(one.metric), name_of(one.verdict), in_line(one.rule), launches.size(),
            is_by_turns ? fmt::format(" of stage {}", one.stage) : "", one.p, 100 * one.confidence);
        text += is_by_turns ? launches_by_turns(launches) : stored_launches(launches, one);
    }
    if (text.empty())
        throw Error("--explain '" + part + "' is part of no metric's name; the table names them");
    return text;
}

}  // namespace tutti
