// SPDX-License-Identifier: Apache-2.0
#include "results/tables/markdown.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/error.hpp"
#include "results/records/metric.hpp"
#include "results/stored/comparison_file.hpp"
#include "results/summary/summary_tables.hpp"
#include "results/tables/fastest.hpp"
#include "results/views/view_words.hpp"

namespace tutti {
namespace {

std::string in_us(double ns) { return fmt::format("{:.2f}", ns / 1000); }
std::string in_ms(double ns) { return fmt::format("{:.3f}", ns / 1e6); }

std::string heading(const std::string& title, const std::string& setup,
                    const std::vector<Note>& notes) {
    std::string text =
        fmt::format("### {}{}\n\n", in_cell(title), setup.empty() ? "" : ", " + in_cell(setup));
    for (const Note& note : notes)
        text += fmt::format("- **{}:** {}\n", in_cell(note.mark), in_cell(note.text));
    return notes.empty() ? text : text + "\n";
}

// Returns an interval in a unit, or why there is none.
std::string interval_of(const std::optional<Ratio>& time, std::string (*in_unit)(double)) {
    if (!time || !time->is_known()) return "too few calls";
    return in_unit(time->low) + " .. " + in_unit(time->high);
}

std::string with_interval(const std::optional<Ratio>& ratio) {
    if (!ratio) return "";
    if (!ratio->is_known()) return fmt::format("{:.2f} (too few calls)", ratio->value);
    return fmt::format("{:.2f} ({:.2f} .. {:.2f})", ratio->value, ratio->low, ratio->high);
}

std::string marked(const std::string& name, bool is_best) {
    return is_best ? "**" + in_cell(name) + "**" : in_cell(name);
}

// The fastest candidate of a size comes first.
std::string rows_of(const RankedTable& table, const RankedSize& size) {
    std::string rows;
    for (const std::size_t place : size.order) {
        const RankedCell& cell = size.cells[place];
        const auto percent = cell.percent_of_limit();
        rows += fmt::format("| {} | {} | {} | {} | {:.2f} | {} | {}{} |\n", to_string(size.bytes),
                            marked(candidate_in_words(cell.points.front()->key), cell.is_tied),
                            in_us(cell.p50), interval_of(cell.time, in_us), cell.busbw,
                            percent ? fmt::format("{:.0f}", *percent) : "",
                            table.ranking.library() ? with_interval(cell.over_library) + " | " : "",
                            cell.points.size());
    }
    return rows;
}

std::string markdown_of(const RankedTable& table) {
    const Ranking& ranking = table.ranking;
    if (ranking.sizes().empty()) return "";
    const Key& key = table.points.front()->key;
    std::string text =
        heading(subject_in_words(key) + ", " + place_in_words(key.nranks, key.ppn, ""), table.setup,
                table.notes);
    const std::string library =
        ranking.library()
            ? fmt::format("times as fast as {} | ",
                          in_cell(to_string(ranking.candidates()[*ranking.library()])))
            : "";
    text += fmt::format(
        "| size | candidate | median us | 95 % interval | busbw GB/s | % of limit | {}launches |\n"
        "|---:|---|---:|---|---:|---:|{}---:|\n",
        library, library.empty() ? "" : "---|");
    for (const RankedSize& size : ranking.sizes()) text += rows_of(table, size);
    return text + "\n";
}

std::string markdown_of(const RankedSteps& table) {
    if (table.methods.empty()) return "";
    StepKey key = table.steps.front()->key;
    key.method.clear();
    std::string text = heading(metric_of(key), table.setup, table.notes);
    text +=
        "| method | step ms | 95 % interval | compute ms | communication ms | exposed ms | over "
        "the "
        "shortest step | launches |\n|---|---:|---|---:|---:|---:|---|---:|\n";
    for (const RankedMethod& method : table.methods)
        text += fmt::format("| {} | {} | {} | {} | {} | {} | {} | {} |\n",
                            marked(method.name, method.is_tied), in_ms(method.step_ns),
                            interval_of(method.time, in_ms), in_ms(method.compute_ns),
                            in_ms(method.communication_ns), in_ms(method.exposed_ns),
                            with_interval(method.over_best), method.steps.size());
    return text + "\n";
}

}  // namespace

std::string markdown_tables(const Results& results) {
    const SummaryTables summary(results);
    std::string tables;
    for (const RankedTable& table : summary.tables) tables += markdown_of(table);
    for (const RankedSteps& table : summary.training) tables += markdown_of(table);
    std::string text;
    if (!tables.empty()) {
        text = fmt::format("Reliability: {}.\n\n{}", in_cell(summary.verdict), tables);
        text +=
            "**Bold**: the fastest, or statistically tied with it. Times are medians over the "
            "launches.\n";
        for (const auto& [fact, values] : summary.setups.differences()) {
            text += "\n" + in_cell(fact);
            for (const auto& [setup, value] : values)
                text += fmt::format("; setup {}: {}", in_cell(setup), in_cell(value));
            text += "\n";
        }
    }
    for (const ComparisonRecords& comparison : comparisons_in(results)) {
        const std::string news = as_markdown(comparison), table = as_table(comparison);
        if (!text.empty() && !table.empty()) text += "\n";
        text += !news.empty() ? news : table.empty() ? "" : "```text\n" + table + "```\n";
    }
    if (text.empty())
        throw Error(
            "nothing was measured with a right result; use a file that 'tutti bench --json' wrote");
    return text;
}

}  // namespace tutti
