// SPDX-License-Identifier: Apache-2.0
// How far a whole report can be trusted.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>

#include "base/units.hpp"
#include "results/summary/trust.hpp"

namespace tutti {
namespace {

constexpr std::size_t most_causes = 3;
constexpr const char* answers[] = {"reliable", "rankings reliable, ratios not", "unreliable"};

bool is_measured_wrong(const Point& point) { return !point.skipped && is_wrong(point); }
bool is_measured_wrong(const TrainingStep& step) {
    return !step.skipped && step.check.state == CheckState::fail;
}

}  // namespace

Reliable reliability(std::span<const Note> notes) {
    Reliable left = Reliable::all;
    for (const Note& note : notes) left = std::max(left, note.leaves);
    return left;
}

bool has_one_launch(std::span<const Note> notes) {
    return std::ranges::any_of(notes,
                               [](const Note& note) { return note.mark == one_launch_mark; });
}

std::vector<Note> notes_of_report(const Results& results, std::span<const Results> launches,
                                  std::vector<Note> notes, std::span<const JudgedTable> tables) {
    const auto single = std::ranges::count_if(
        tables, [](const JudgedTable& table) { return has_one_launch(table.notes); });
    if (single > 0 && !has_one_launch(notes))
        notes.insert(std::ranges::find(notes, Reliable::all, &Note::leaves),
                     {one_launch_mark,
                      fmt::format("{} of {} have one launch each: their intervals cover that "
                                  "launch only (use --launches 6)",
                                  single, counted(std::ssize(tables), "table")),
                      Reliable::ranking, "one launch each"});
    std::int64_t wrong = 0;
    for (const Results& launch : launches) {
        for (const Point& point : launch.points) wrong += is_measured_wrong(point);
        for (const TrainingStep& step : launch.steps) wrong += is_measured_wrong(step);
    }
    if (wrong > 0)
        notes.insert(notes.begin(),
                     {"WRONG RESULTS",
                      counted(wrong, "point") + ": left out of figures and rankings, red in tables",
                      Reliable::nothing, "wrong results in " + counted(wrong, "point")});
    if (!results.fails.empty())
        notes.push_back({"failures", counted(std::ssize(results.fails), "failure")});
    for (const std::string& warning : results.warnings) notes.push_back({"torn file", warning});
    return notes;
}

std::string verdict_of(std::span<const Note> notes, std::span<const JudgedTable> all) {
    std::vector<JudgedTable> tables;
    std::ranges::copy_if(all, std::back_inserter(tables), &JudgedTable::is_measured);
    if (tables.empty()) return "unreliable (no measured result was right)";
    std::set<Reliable> levels;
    std::set<std::string> marks_of_tables;
    for (const JudgedTable& table : tables) {
        levels.insert(reliability(table.notes));
        for (const Note& note : table.notes) marks_of_tables.insert(note.mark);
    }
    std::vector<std::string> parts;
    for (const Note& note : notes)
        if (note.leaves == Reliable::nothing && !marks_of_tables.contains(note.mark))
            parts.push_back(note.because);
    for (const Reliable level : levels) {
        std::set<std::string> marks;
        std::size_t count = 0;
        for (const JudgedTable& table : tables) {
            if (reliability(table.notes) != level) continue;
            ++count;
            for (const Note& note : table.notes)
                if (note.leaves == level) marks.insert(note.mark);
        }
        std::vector<std::string> reasons;
        for (const Note& note : notes)
            if (reasons.size() < most_causes && !note.because.empty() && marks.contains(note.mark))
                reasons.push_back(note.because);
        if (reasons.empty())
            reasons.emplace_back("quiet machine, one core per rank, several launches");
        const char* const answer = answers[static_cast<int>(level)];
        const std::string which =
            levels.size() == 1 ? "" : fmt::format("{} of {} tables ", count, tables.size());
        parts.push_back(fmt::format("{}{} ({})", which, answer, fmt::join(reasons, "; ")));
    }
    return fmt::format("{}", fmt::join(parts, "; "));
}

}  // namespace tutti
