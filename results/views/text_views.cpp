// SPDX-License-Identifier: Apache-2.0
// Views that are lines of text.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "results/views/view_words.hpp"
#include "results/views/views.hpp"

namespace tutti {
namespace {

constexpr std::size_t most_of_markdown = 60'000;  // GitHub takes 65,536 characters
constexpr int most_annotations = 10;              // per kind; GitHub shows no more
constexpr std::size_t most_undecided = 10;        // in the list; the table has all

std::vector<VerdictRecord> worst_first(std::vector<VerdictRecord> verdicts) {
    const auto rank_of = [](Change change) {
        return change == Change::same ? 4 : static_cast<int>(change);
    };
    std::ranges::stable_sort(verdicts, [&](const VerdictRecord& one, const VerdictRecord& other) {
        if (one.verdict != other.verdict) return rank_of(one.verdict) < rank_of(other.verdict);
        return std::abs(std::log(one.ratio)) > std::abs(std::log(other.ratio));
    });
    return verdicts;
}

int count_of(const std::vector<VerdictRecord>& verdicts, Change change) {
    return static_cast<int>(std::ranges::count_if(verdicts, [&](const VerdictRecord& verdict) {
        return verdict.verdict == change && !is_mean(verdict);
    }));
}

std::string markdown_row(const VerdictRecord& verdict) {
    return fmt::format("| {} | {} | {} | {} | {} | {} | {} |\n", in_cell(name_in_views(verdict)),
                       in_cell(value_in_words(verdict.a_ns, verdict)),
                       in_cell(value_in_words(verdict.b_ns, verdict)), change_in_words(verdict),
                       interval_in_words(verdict), noise_in_words(verdict),
                       name_of(verdict.verdict));
}

// Escapes for GitHub's commands: no line end, no percent sign.
std::string in_command(const std::string& text) {
    std::string safe;
    for (const char one : text) {
        if (one == '%' || one == '\n' || one == '\r')
            safe += fmt::format("%{:02X}", static_cast<unsigned>(one));
        else
            safe += one;
    }
    return safe;
}

// A label's value in quotes.
std::string in_label(const std::string& text) {
    std::string safe;
    for (const char one : text) {
        if (one == '\\' || one == '"') safe += '\\';
        safe += one == '\n' ? std::string("\\n") : std::string(1, one);
    }
    return safe;
}

std::string in_csv(const std::string& text) {
    std::string safe = "\"";
    for (const char one : text) safe += one == '"' ? std::string("\"\"") : std::string(1, one);
    return safe + '"';
}

}  // namespace

std::string as_markdown(const ComparisonRecords& comparison) {
    const int slower = count_of(comparison.verdicts, Change::slower);
    const int faster = count_of(comparison.verdicts, Change::faster);
    const std::vector<VerdictRecord> undecided = undecided_ones(comparison);
    if (has_nothing(comparison))
        return fmt::format("### tutti compare: nothing compared\n\n- {}\n", nothing_compared);
    if (slower + faster == 0 && undecided.empty() && comparison.wrong.empty() &&
        !any_missed(comparison))
        return "";
    std::string list;
    const auto add = [&](const char* what, const std::string& text) {
        const std::string line =
            fmt::format("- **{}:** {}\n", what, in_cell(message_in_views(text)));
        const bool has_room = list.size() + line.size() <= most_of_markdown / 3;
        if (has_room) list += line;
        return has_room;
    };
    const auto add_rest = [&](std::size_t number, const char* what) {
        if (number > 0) list += fmt::format("- {} more {}\n", number, what);
    };
    std::size_t not_shown = 0, undecided_shown = 0;
    for (const std::string& one : comparison.wrong) not_shown += add("Wrong", one) ? 0 : 1;
    for (const FloorRecord& floor : comparison.floors)
        if (!floor.met) not_shown += add("Missed", floor_in_words(floor)) ? 0 : 1;
    add_rest(not_shown, "wrong results or missed floors");
    for (const VerdictRecord& one : undecided)
        if (undecided_shown < most_undecided &&
            add("Undecided", name_in_views(one) + ": " + open_question(one)))
            ++undecided_shown;
    add_rest(undecided.size() - undecided_shown, "are undecided");
    std::string text = fmt::format(
        "### tutti compare: {} slower, {} faster, {} the same, {} undecided\n\n{}{}"
        "| metric | A | B | change | interval | noise | verdict |\n"
        "|---|---:|---:|---:|---|---:|---|\n",
        slower, faster, count_of(comparison.verdicts, Change::same), undecided.size(), list,
        list.empty() ? "" : "\n");
    std::string end = fmt::format(
        "\nNoise: {}. Measured at {} by tutti {}.\n",
        is_stored(comparison)
            ? "90 % of all pairs of launches of the same side differ by less than this"
            : "the same program differs from itself by this in the same launches",
        time_in_views(comparison.session.t), in_cell(in_line(comparison.session.tool.version)));
    for (const std::string& line : cautions(comparison))
        end += fmt::format("\n{}\n", in_cell(line));
    std::size_t left_out = 0;
    for (const VerdictRecord& verdict : worst_first(comparison.verdicts)) {
        const std::string row = markdown_row(verdict);
        if (left_out > 0 || text.size() + row.size() + end.size() + 100 > most_of_markdown)
            ++left_out;
        else
            text += row;
    }
    if (left_out > 0) text += fmt::format("\n{} more rows are in the records.\n", left_out);
    return text + end;
}

std::string as_github_annotations(const ComparisonRecords& comparison) {
    std::string text;
    std::map<std::string_view, int> count;
    for (const std::string& one : comparison.wrong)
        if (++count["error"] <= most_annotations)
            text += fmt::format("::error title=tutti compare::{}\n",
                                in_command("wrong: " + message_in_views(one)));
    for (const FloorRecord& floor : comparison.floors)
        if (!floor.met && ++count["error"] <= most_annotations)
            text += fmt::format("::error title=tutti compare::{}\n",
                                in_command("missed: " + message_in_views(floor_in_words(floor))));
    if (has_nothing(comparison))
        text += fmt::format("::warning title=tutti compare::{}\n", nothing_compared);
    for (const auto& [change, command] :
         {std::pair{Change::slower, "error"}, std::pair{Change::undecided, "warning"},
          std::pair{Change::faster, "notice"}}) {
        for (const VerdictRecord& verdict : worst_first(comparison.verdicts)) {
            if (verdict.verdict != change || is_mean(verdict) ||
                ++count[command] > most_annotations)
                continue;
            std::string message = fmt::format("{} is {}: {}", name_in_views(verdict),
                                              name_of(change), change_with_values(verdict));
            if (change == Change::undecided) message += "; " + open_question(verdict);
            text += fmt::format("::{} title=tutti compare::{}\n", command, in_command(message));
        }
    }
    return text;
}

std::string as_open_metrics(const ComparisonRecords& comparison) {
    std::string text;
    const auto family = [&](const char* name, const char* unit, const char* help) {
        text += fmt::format("# TYPE {} gauge\n", name);
        if (*unit != '\0') text += fmt::format("# UNIT {} {}\n", name, unit);
        text += fmt::format("# HELP {} {}\n", name, help);
    };
    if (std::ranges::any_of(comparison.verdicts, is_in_ns))
        family("tutti_time_seconds", "seconds", "Median time of a call.");
    for (const VerdictRecord& verdict : comparison.verdicts)
        for (const auto& [side, ns] : {std::pair{"a", verdict.a_ns}, std::pair{"b", verdict.b_ns}})
            if (ns > 0 && is_in_ns(verdict))
                text += fmt::format("tutti_time_seconds{{metric=\"{}\",side=\"{}\"}} {:.4g}\n",
                                    in_label(name_in_views(verdict)), side,
                                    rounded_to_noise(ns * 1e-9, verdict.noise));
    family("tutti_change_ratio", "ratio", "Time or rate of B over that of A.");
    for (const VerdictRecord& verdict : comparison.verdicts)
        if (!is_mean(verdict))
            text += fmt::format("tutti_change_ratio{{metric=\"{}\",verdict=\"{}\"{}}} {:.4g}\n",
                                in_label(name_in_views(verdict)), name_of(verdict.verdict),
                                verdict.method == Pairing::stored ? ",method=\"stored\"" : "",
                                rounded_to_noise(verdict.ratio, verdict.noise));
    // In a family of its own: a program may call a metric so, too.
    const auto mean = std::ranges::find_if(comparison.verdicts, is_mean);
    if (mean != comparison.verdicts.end()) {
        family("tutti_mean_change_ratio", "ratio", "Geometric mean of all changes.");
        text += fmt::format("tutti_mean_change_ratio{{verdict=\"{}\"}} {:.4g}\n",
                            name_of(mean->verdict), rounded_to_noise(mean->ratio, mean->noise));
    }
    if (!comparison.floors.empty())
        family("tutti_floor_met", "", "1: B is as good as was asked; 0: it is not.");
    for (const FloorRecord& floor : comparison.floors)
        text += fmt::format("tutti_floor_met{{floor=\"{}\"}} {}\n",
                            in_label(name_in_views(floor.asked)), floor.met ? 1 : 0);
    return text + "# EOF\n";
}

std::string as_csv(const ComparisonRecords& comparison) {
    std::string text =
        "metric,verdict,ratio,low,high,confidence,p,noise,mde,a_ns,b_ns,n_launch,stage,method,"
        "rule,unit,a,b,higher_is_better,to_decide\n";
    for (const VerdictRecord& one : comparison.verdicts) {
        const auto known = [](double value) {  // 0 stands for none
            return value == 0 ? "" : fmt::format("{:.6g}", value);
        };
        const auto ns = [&](double value) { return is_in_ns(one) ? known(value) : ""; };
        text += fmt::format(
            "{},{},{:.6g},{},{},{},{:.4g},{:.4g},{},{},{},{},{},{},{},{},{},{},{:d},{}\n",
            in_csv(name_in_views(one)), name_of(one.verdict), one.ratio, known(one.low),
            known(one.high), one.confidence, one.p, one.noise, known(one.visible), ns(one.a_ns),
            ns(one.b_ns), one.launches, one.stage, name_of(one.method),
            in_csv(message_in_views(one.rule)), in_csv(one.unit), known(one.a_ns), known(one.b_ns),
            one.higher_is_better, in_csv(message_in_views(one.to_decide)));
    }
    for (const FloorRecord& floor : comparison.floors)
        text += fmt::format("{},{},,,,,,,,,,,,,{},,,,,\n", in_csv(name_in_views(floor.asked)),
                            floor.met ? "met" : "missed",
                            in_csv(message_in_views(floor_in_words(floor))));
    return text;
}

}  // namespace tutti
