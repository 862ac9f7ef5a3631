// SPDX-License-Identifier: Apache-2.0
#include "autotune/table/explain.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>
#include <vector>

#include "autotune/table/range_text.hpp"
#include "base/encoding.hpp"
#include "topology/machine/printable.hpp"

namespace tutti {
namespace {

constexpr std::size_t page_width = 120;

enum Column { letter, from, to, choice, origin, seen_at, time, runner_up, gain };
using Row = std::array<std::string, 9>;

// Returns the letter of a range in the bar below the table.
char letter_of(std::size_t range) {
    constexpr std::string_view letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
    return range < letters.size() ? letters[range] : '+';
}

Row row_of(const Section& section, std::size_t i) {
    const Range& range = section.ranges[i];
    const bool is_last = i + 1 == section.ranges.size();
    Row row;
    row[letter] = letter_of(i);
    row[from] = to_string(range.from);
    row[to] = is_last ? "any" : to_string(section.ranges[i + 1].from);
    row[choice] = short_text(range.choice);
    row[origin] = name_of(range.origin);
    if (const RangeEvidence* seen = typical_evidence(range)) {
        row[seen_at] = to_string(seen->size);
        row[time] = to_string(seen->time);
        row[runner_up] = runner_up_text(*seen);
        if (const auto compared = gain_of(range, *seen)) row[gain] = gain_text(*compared);
    }
    return row;
}

std::vector<Row> rows_of(const Section& section) {
    std::vector<Row> rows{{"", "from", "below", "choice", "origin", "at", "time [95 %]",
                           "runner-up", "gain over [95 %]"}};
    for (std::size_t i = 0; i < section.ranges.size(); ++i) rows.push_back(row_of(section, i));
    return rows;
}

using Widths = std::array<std::size_t, std::tuple_size_v<Row>>;

constexpr std::size_t margin = 2, between = 2;

// Each column is as wide as its longest cell. If the page is too narrow, the runner-up is cut
// first, then the widest columns.
Widths widths_of(const std::vector<Row>& rows) {
    Widths widths{};
    std::size_t total = margin + between * (widths.size() - 1);
    for (std::size_t column = 0; column < widths.size(); ++column) {
        for (const Row& row : rows) widths[column] = std::max(widths[column], row[column].size());
        total += widths[column];
    }
    constexpr std::size_t least = 10;
    for (; total > page_width && widths[runner_up] > least; --total) --widths[runner_up];
    for (; total > page_width; --total) --*std::ranges::max_element(widths);
    return widths;
}

std::string cut(std::string_view text, std::size_t width) {
    if (text.size() <= width) return std::string(text);
    return fmt::format("{}..", beginning_of(text, width - std::min<std::size_t>(width, 2)));
}

void trim_end(std::string& line) { line.erase(line.find_last_not_of(' ') + 1); }

std::string line_of(const Row& row, const Widths& widths) {
    std::string line(margin, ' ');
    for (std::size_t column = 0; column < row.size(); ++column) {
        const bool is_size = column == from || column == to || column == seen_at;
        const std::string cell = cut(row[column], widths[column]);
        line += is_size ? fmt::format("{:>{}}", cell, widths[column])
                        : fmt::format("{:<{}}", cell, widths[column]);
        line.append(between, ' ');
    }
    trim_end(line);
    return line + "\n";
}

// Prints a size every three octaves above a line of letters.
std::string bar_of(const Section& section, const SizeAxis& axis) {
    const auto octaves = static_cast<std::size_t>(axis.octaves());
    constexpr std::size_t roomy = 4, indent = 5, label = 5;
    const std::size_t per_octave =
        std::clamp<std::size_t>((page_width - indent - label) / octaves, 1, roomy);
    const std::size_t tick = per_octave == 1 ? 6 : 3;
    std::string ticks(indent, ' '), bar(indent, ' ');
    for (std::size_t i = 0; i < octaves * per_octave; ++i) {
        const double octave = static_cast<double>(i) / static_cast<double>(per_octave);
        const Range& range = range_at(section, axis.size_at(octave));
        bar += letter_of(static_cast<std::size_t>(&range - section.ranges.data()));
        if (i % (tick * per_octave) == 0)
            ticks += fmt::format("{:<{}}", to_string(axis.size_at(octave)), tick * per_octave);
    }
    trim_end(ticks);
    return fmt::format("{}\n{}\n", ticks, bar);
}

std::string votes_of(const Section& section) {
    std::string text;
    for (const Range& range : section.ranges)
        for (const RangeEvidence& seen : range.evidence)
            if (!seen.of_launches.empty())
                text +=
                    cut(fmt::format("  launches at {}: {}", to_string(seen.size), votes_text(seen)),
                        page_width) +
                    "\n";
    return text;
}

std::string head_of(const Table& table) {
    std::string text = fmt::format("# table with {} sections", table.sections.size());
    if (!table.written.empty()) text += fmt::format(", written {}", table.written);
    if (!table.tool.empty()) text += fmt::format(" by {}", table.tool);
    if (!table.model.empty()) text += ", with a model";
    return cut(printable(text), page_width);
}

std::string notes() {
    return "# choice: algorithm/transport; " + letters_of_knobs() +
           ".\n"
           "# at: the size at which time, runner-up and gain were measured.\n"
           "# gain: time of the library's default over the choice's time; for a "
           "kept "
           "default: time of the best\n"
           "# other variant over the default's. runner-up: how much slower it was than the choice. "
           "A "
           "runner-up with a negative\n"
           "# value was faster, but not significantly faster than the library's default, or by "
           "less "
           "than --hysteresis than\n"
           "# the choice of the adjacent size.\n"
           "# ~: predicted by the model.\n";
}

}  // namespace

std::string explain(const Table& table) {
    std::string text = fmt::format("{}\n{}", head_of(table), notes());
    const SizeAxis axis(table);
    for (const JobShape& job_shape : job_shapes_of(table)) {
        text += fmt::format("\n{}\n", printable(to_string(job_shape)));
        for (const Section& section : table.sections) {
            if (section.job_shape != job_shape || section.ranges.empty()) continue;
            const std::string remark = remark_on(section);
            text += fmt::format("\n{}{}{}\n", to_string(section.subject),
                                remark.empty() ? "" : ": ", remark);
            const std::vector<Row> rows = rows_of(section);
            const Widths widths = widths_of(rows);
            for (const Row& row : rows) text += line_of(row, widths);
            text += bar_of(section, axis) + votes_of(section);
        }
    }
    return text;
}

}  // namespace tutti
