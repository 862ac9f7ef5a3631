// SPDX-License-Identifier: Apache-2.0
// Reading any bytes gives records or a one-line error with file and line. Records can be written,
// read again, printed, compared, resumed and appended to.
#include <optional>
#include <sstream>

#include "cli/options/run_plan.hpp"
#include "cli/show/stored_tables.hpp"
#include "results/comparison/floors.hpp"
#include "results/records/reader.hpp"
#include "results/records/store.hpp"
#include "results/stored/comparison_file.hpp"
#include "results/stored/stored_runs.hpp"
#include "results/tables/csv.hpp"
#include "results/tables/over_launches.hpp"
#include "results/tables/step_table.hpp"
#include "results/tables/text_table.hpp"
#include "results/views/views.hpp"
#include "tests/fuzz/demand.hpp"

namespace {

using namespace tutti;

void write_again(const Results& results) {
    const auto again = [](const auto& records) {
        for (const auto& record : records)
            demand(std::get<std::decay_t<decltype(record)>>(
                       parse_json_line(to_json_line(record))) == record,
                   "a line brings back the record: " + to_json_line(record));
    };
    std::apply([&](const auto&... lists) { (again(lists), ...); }, lists_of(results));
}

void draw_tables(const Results& results) {
    const std::vector<std::string> notes{"a note"};
    table_header(notes, {.wire = true, .predicted = true});
    for (const Point& point : results.points)
        table_row({.out_of_place = &point, .in_place = &point}, {.wire = true, .predicted = true});
    table_footer(results.points);
    std::ostringstream csv;
    write_csv(csv, {.sessions = results.sessions, .points = results.points});
    write_csv(csv, {.sessions = results.sessions, .steps = results.steps});
    write_csv(csv, {.sessions = results.sessions, .verdicts = results.verdicts});
    step_table_header(notes);
    step_table_rows(results.steps);
    step_table_footer(results.steps);
    over_launches(results.points);
    over_launches(results.steps);
}

void show(const Results& results) {
    try {
        stored_tables(results, {});
    } catch (const Error& error) {
        demand_one_line(error);
    }
}

void draw_views(const ComparisonRecords& records) {
    for (const View& view : views()) view.text(records);
    if (!records.verdicts.empty()) explained(records, records.verdicts.front().metric);
}

void compare(const Results& results) {
    const StoredRuns runs = stored_runs(results);
    const StoredComparison same = compare_stored(runs, runs, {}, {"cores: 8, 4"});
    for (const VerdictRecord& verdict : same.verdicts)
        demand(verdict.verdict != Change::slower && verdict.verdict != Change::faster,
               "nothing differs from itself: " + verdict.metric);
    draw_views({.pairs = same.pairs, .verdicts = same.verdicts, .wrong = same.wrong});
    std::vector<TimeOfCall> calls;
    for (const std::string& metric : runs.order)
        calls.push_back(
            {metric, runs.metrics.at(metric).median_ns(), runs.metrics.at(metric).nranks});
    hold_against(std::vector<Floor>{}, calls);
    in_words(runs);
}

// Each gives a one-line error if the file has no such records.
void go_on(const std::string& file) {
    try {
        draw_views(stored_comparison(file));
    } catch (const Error& error) {
        demand_one_line(error);
    }
    for (const char* command : {"bench", "workload"}) try {
            interrupted_run(file, command);
        } catch (const Error& error) {
            demand_one_line(error);
        }
}

std::optional<Results> results_in(const std::string& text) {
    std::istringstream stream(text);
    try {
        return read_results(stream, "FILE");
    } catch (const Error& error) {
        // A file of blank lines, or of a byte order mark, has no line to name.
        const bool is_empty = std::string_view(error.what()).find("is empty") != text.npos;
        is_empty ? demand_one_line(error) : demand_place(error, "FILE");
        return std::nullopt;
    }
}

// Removes a torn last line; the other lines stay.
void add_to(const std::string& file, const std::optional<Results>& before) {
    try {
        Store(file).append(End{.session = "another"});
        append_to_running_session(file, {.session = "another", .phase = "start"});
    } catch (const Error& error) {
        demand_one_line(error);
        return;
    }
    if (!before) return;
    const Results now = read_results(std::filesystem::path(file));
    demand(now.points == before->points && now.ends.size() == before->ends.size() + 1 &&
               now.fails.size() == before->fails.size() + 1,
           "what was there stays, what is added is there");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    static const FolderInMemory folder("results");
    const std::string text(text_of(data, size));
    const std::optional<Results> results = results_in(text);
    if (results) {
        write_again(*results);
        draw_tables(*results);
        compare(*results);
        show(*results);
    }
    const std::string file = folder.file("results.jsonl", text);
    if (results) go_on(file);
    add_to(file, results);
    std::filesystem::remove(file + ".torn");
    return 0;
}
