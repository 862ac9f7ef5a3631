// SPDX-License-Identifier: Apache-2.0
#include "cli/show/stored_tables.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "cli/forms/bench_output.hpp"
#include "cli/launches.hpp"
#include "cli/options/values.hpp"
#include "cli/provenance.hpp"
#include "results/stored/by_launch.hpp"
#include "results/stored/comparison_file.hpp"
#include "results/stored/fingerprint.hpp"
#include "results/stored/printable_results.hpp"
#include "results/tables/cautions.hpp"
#include "results/tables/over_launches.hpp"
#include "results/tables/step_table.hpp"
#include "results/views/attribution.hpp"
#include "workloads/bench/sweep_points.hpp"

namespace tutti {
namespace {

// Launches with the same identity.
struct AlikeLaunches {
    Fingerprint identity;
    Results results;
};

// Returns what identifies a group of launches: machine, tutti version, command and options.
Fingerprint identity_of(const Results& launch) {
    Fingerprint identity = fingerprint_of(launch);
    const Session& session = launch.sessions.front();
    identity["tutti"] = {describe(session.tool)};
    identity["command"] = {session.argv.size() > 1 ? session.argv[1] : ""};
    for (const auto& [option, value] : session.plan)
        if (changes_measurements(option) && option != "seed") identity[option] = {value};
    return identity;
}

std::vector<AlikeLaunches> alike_launches(const Results& results) {
    std::vector<AlikeLaunches> groups;
    for (Results& launch : by_launch(results)) {
        Fingerprint identity = identity_of(launch);
        auto group = std::ranges::find(groups, identity, &AlikeLaunches::identity);
        if (group == groups.end()) group = groups.insert(group, {std::move(identity), {}});
        append(group->results, std::move(launch));
    }
    return groups;
}

// Returns the fields in which launches of the same command differ; other commands have other
// options.
std::set<std::string> fields_that_differ(std::span<const AlikeLaunches> groups) {
    const auto command_of = [](const AlikeLaunches& group) {
        return in_words(group.identity, "command");
    };
    std::set<std::string> fields;
    for (const AlikeLaunches& group : groups) {
        const auto first = std::ranges::find(groups, command_of(group), command_of);
        for (const auto& one : differences(first->identity, group.identity))
            fields.insert(one.field);
        if (first != groups.begin()) fields.insert("command");
    }
    return fields;
}

// Returns for example "algo ring, nranks 2".
std::string describe_fields(const Fingerprint& identity, const std::set<std::string>& fields) {
    std::vector<std::string> words;
    for (const std::string& field : fields)
        words.push_back(field + " " + in_words(identity, field));
    return fmt::format("{}", fmt::join(words, ", "));
}

// Counts the launches without a recorded end or failure.
std::ptrdiff_t cut_short(const Results& launches) {
    const auto is_told = [](const auto& records, const Session& session) {
        return std::ranges::any_of(
            records, [&](const auto& record) { return record.session == session.id; });
    };
    return std::ranges::count_if(launches.sessions, [&](const Session& session) {
        return !is_told(launches.ends, session) && !is_told(launches.fails, session);
    });
}

std::vector<std::string> notes_of(const Results& launches) {
    const Session& session = launches.sessions.front();
    std::vector<std::string> notes;
    if (launches.launches.size() > 1) {
        notes = notes_of_launches(session.tool, launches.launches);
    } else {
        notes = head_notes(session.tool, launches.launches.front());
        notes.insert(notes.begin() + 1, fmt::format("{}", fmt::join(session.argv, " ")));
        notes.insert(notes.begin() + 2, "measured " + session.t);
    }
    for (const Fail& fail : launches.fails)
        notes.push_back(fmt::format("FAILED: {}: {}", fail.what, fail.phase));
    if (const auto number = cut_short(launches))
        notes.push_back(counted(number, "launch") +
                        " did not finish: some measurements are missing");
    return notes;
}

// Restores the options of 'tutti bench' that its output depends on.
BenchOptions options_of(const Results& launches, const TableStyle& style) {
    BenchOptions options;
    options.all_rows = style.all_rows;
    options.like = style.like;
    options.sweep.collective = launches.points.front().key.coll;
    if (const std::string& blocks = launches.points.front().key.blocks; !blocks.empty())
        options.sweep.blocks = {{.counts = {}, .name = blocks}};
    std::set<std::string> buffers;
    std::set<bool> placements;
    for (const Point& point : launches.points) {
        buffers.insert(point.key.buf);
        placements.insert(point.key.inplace);
    }
    for (const std::string& name : buffers)
        if (const auto* kind = find_in(kinds_in_keys, name))
            options.sweep.buffers.push_back(kind->value);
    options.sweep.in_place.assign(placements.begin(), placements.end());
    const TextByName& plan = launches.sessions.front().plan;
    const Knob& segment = knobs.front();
    if (const auto asked = plan.find(segment.name); asked != plan.end())
        options.search_space.knobs[segment.name] = values_of(segment)(asked->second);
    return options;
}

// Combines records over launches; those of one launch are unchanged.
template <class Record>
std::vector<Record> together(const std::vector<Record>& records, std::size_t launches,
                             auto member) {
    if (launches == 1) return records;
    std::vector<Record> all;
    for (auto& one : over_launches(std::span<const Record>(records)))
        all.push_back(std::move(one.*member));
    return all;
}

StoredTables table_of_sweep(const Results& launches, const TableStyle& style) {
    const auto points =
        together(launches.points, launches.launches.size(), &PointOverLaunches::point);
    const BenchOptions options = options_of(launches, style);
    const auto output = make_output(options, columns_of(points));
    std::string text =
        output->begin(launches.launches.front(), notes_of(launches), candidates_of(points));
    text += rows_of_records(*output, points, launches.points) + numerics_table(launches.numerics);
    text += output->end(points, launches);
    return {std::move(text), output->code()};
}

std::string table_of_steps(const Results& launches) {
    const auto steps = together(launches.steps, launches.launches.size(), &StepOverLaunches::step);
    // The header of a single launch already contains its cautions.
    const auto of_several =
        std::span(launches.launches).subspan(launches.launches.size() == 1 ? 1 : 0);
    return step_table_header(notes_of(launches)) + step_table_rows(steps) +
           cautions_below(of_several, launches.ends) + step_table_footer(steps);
}

// The points for one table, with the line above it; empty if there is only one table.
struct TablePart {
    std::string heading;
    Results launches;
};

// Splits a sweep by what the format cannot show in one table: the tables of nccl-tests have no
// column for the kind of memory, and those of OSU none for the placement either.
std::vector<TablePart> parts_for(const Results& launches, const std::string& like) {
    const bool is_osu = like.starts_with("osu");
    if (!is_osu && !like.starts_with("nccl-tests")) return {{"", launches}};
    std::vector<TablePart> parts;
    for (const Point& point : launches.points) {
        std::string heading = "#\n# " + point.key.buf + " memory";
        if (is_osu) heading += point.key.inplace ? ", in place" : ", out of place";
        auto part = std::ranges::find(parts, heading + '\n', &TablePart::heading);
        if (part == parts.end()) {
            part = parts.insert(part, {heading + '\n', launches});
            part->launches.points.clear();
            if (parts.size() > 1) part->launches.numerics.clear();
        }
        part->launches.points.push_back(point);
    }
    if (parts.size() == 1) parts.front().heading.clear();
    return parts;
}

StoredTables table_of(const Results& launches, const TableStyle& style) {
    if (launches.points.empty()) return {table_of_steps(launches)};
    StoredTables all;
    for (const auto& [heading, part] : parts_for(launches, style.like)) {
        const StoredTables one = table_of_sweep(part, style);
        all.text += heading + one.text;
        all.code = std::max(all.code, one.code);
    }
    return all;
}

std::string table_of(const ComparisonRecords& comparison) {
    return fmt::format("# {}\n# {}\n# measured {}\n{}{}", describe(comparison.session.tool),
                       fmt::join(comparison.session.argv, " "), comparison.session.t,
                       as_table(comparison), in_text(comparison.growth));
}

}  // namespace

StoredTables stored_tables(Results results, const TableStyle& style) {
    make_printable(results);
    const auto groups = alike_launches(results);
    auto comparisons = comparisons_in(results);
    std::erase_if(comparisons,
                  [](const ComparisonRecords& comparison) { return as_table(comparison).empty(); });
    if (groups.empty() && comparisons.empty())
        throw Error(results.fails.empty() ? "no measurements of a sweep, workload or comparison; "
                                            "use a file that 'tutti bench --json' wrote"
                                          : "nothing was measured: " + results.fails.back().phase);
    StoredTables all;
    const auto fields = fields_that_differ(groups);
    if (groups.size() > 1)
        all.text = fmt::format("# {} tables: the launches differ in {}\n", groups.size(),
                               fmt::join(fields, ", "));
    std::size_t number = 0;
    for (const AlikeLaunches& group : groups) {
        if (groups.size() > 1)
            all.text += fmt::format("#\n# table {}: {}\n", ++number,
                                    describe_fields(group.identity, fields));
        const StoredTables one = table_of(group.results, style);
        all.text += one.text;
        all.code = std::max(all.code, one.code);
    }
    for (const ComparisonRecords& comparison : comparisons) all.text += table_of(comparison);
    return all;
}

}  // namespace tutti
