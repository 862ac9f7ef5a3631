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

// The unit of a column: of times, the one that suits the shortest.
struct ColumnUnit {
    std::string name;  // empty if none was printed
    double factor = 1;
};

ColumnUnit unit_of_column(const VerdictRecord& verdict, double least) {
    if (!is_in_ns(verdict)) return {in_line(verdict.unit)};
    const TimeUnit unit = time_unit_for(std::max(least, 1000.));
    return {unit.name, unit.ns};
}

std::string cell_of(double value, const ColumnUnit& unit) {
    return value == 0 ? "" : number_in_column(value / unit.factor);
}

std::string table_of_verdicts(const std::vector<VerdictRecord>& verdicts) {
    std::size_t width = 6;
    for (const VerdictRecord& one : verdicts) width = std::max(width, name_in_views(one).size());
    const VerdictRecord& first = verdicts.front();
    // One unit stands in the head, several stand with their numbers.
    const bool is_mixed = std::ranges::any_of(verdicts, [&](const VerdictRecord& one) {
        return !is_mean(one) && one.unit != first.unit;
    });
    double least = first.a_ns;
    for (const VerdictRecord& one : verdicts)
        if (!is_mean(one)) least = std::min({least, one.a_ns, one.b_ns});
    const ColumnUnit head = unit_of_column(first, least);
    const std::string unit = is_mixed || head.name.empty() ? "" : " (" + head.name + ")";
    const auto cell = [&](double value, const VerdictRecord& one) {
        if (!is_mixed) return cell_of(value, head);
        const ColumnUnit own = unit_of_column(one, std::min(one.a_ns, one.b_ns));
        const std::string text = cell_of(value, own);
        return text.empty() || own.name.empty() ? text : text + " " + own.name;
    };
    const std::string head_a = "A" + unit, head_b = "B" + unit;
    std::size_t cell_width = std::max<std::size_t>(10, head_a.size());
    for (const VerdictRecord& one : verdicts)
        for (const double value : {one.a_ns, one.b_ns})
            cell_width = std::max(cell_width, cell(value, one).size());
    const auto line = [&](const auto& mark, const auto& name, const auto& a, const auto& b,
                          const auto&... cells) {
        return fmt::format("{} {:<{}} {:>{}} {:>{}} ", mark, name, width, a, cell_width, b,
                           cell_width) +
               fmt::format("{:>9}  {:<20} {:>7} {:>9}  {}\n", cells...);
    };
    std::string text = line("#", "metric", head_a, head_b, "change",
                            fmt::format("{:.0f} % interval", 100 * first.confidence), "noise",
                            "seen from", "verdict");
    for (const VerdictRecord& one : verdicts)
        text += line(" ", in_line(name_in_views(one)), cell(one.a_ns, one), cell(one.b_ns, one),
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
    return fmt::format("# {}: {}\n", counted(metrics, "metric"), fmt::join(parts, ", "));
}

// Says which numbers are rates, as the sign of a change depends on it.
std::string line_of_rates(const std::vector<VerdictRecord>& verdicts) {
    std::vector<std::string> rates;
    std::size_t metrics = 0;
    for (const VerdictRecord& one : verdicts) {
        if (is_mean(one)) continue;
        ++metrics;
        if (one.higher_is_better) rates.push_back(in_line(name_in_views(one)));
    }
    if (rates.empty()) return "";
    if (rates.size() == metrics) return "# larger numbers are better\n";
    return fmt::format("# larger numbers are better: {}\n", fmt::join(rates, ", "));
}

std::string lines_of_undecided(const ComparisonRecords& comparison) {
    constexpr std::size_t most = 5;
    const std::vector<VerdictRecord> undecided = undecided_ones(comparison);
    std::string text;
    for (std::size_t i = 0; i < undecided.size() && i < most; ++i)
        text += fmt::format("# undecided: {}: {}\n", in_line(name_in_views(undecided[i])),
                            in_line(open_question(undecided[i])));
    if (undecided.size() > most)
        text += fmt::format("# undecided: {} more\n", undecided.size() - most);
    return text;
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
    const ColumnUnit unit = unit_of_column(verdict, std::min(verdict.a_ns, verdict.b_ns));
    const std::string head = unit.name.empty() ? "" : " (" + unit.name + ")";
    std::string text = fmt::format("#   {:>6} {:>10} {:>10}\n", "launch", "A" + head, "B" + head);
    int number = 0;
    for (const LaunchOfMetric& launch : launches)
        text += fmt::format("#   {:>6} {:>10} {:>10}\n", ++number, cell_of(launch.a_ns, unit),
                            cell_of(launch.b_ns, unit));
    return text;
}

}  // namespace

std::string as_table(const ComparisonRecords& comparison) {
    std::string text;
    for (const std::string& wrong : comparison.wrong)
        text += fmt::format("# WRONG: {}\n", in_line(wrong));
    if (!comparison.verdicts.empty()) {
        text += table_of_verdicts(comparison.verdicts) + line_of_rates(comparison.verdicts) +
                counts_of(comparison.verdicts) + lines_of_undecided(comparison);
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
