// SPDX-License-Identifier: Apache-2.0
#include "cli/show/typed_schedule.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/collective_form.hpp"
#include "base/name_table.hpp"
#include "cli/options/algorithm_files.hpp"
#include "collectives/planner/planner.hpp"

namespace tutti {
namespace {

// Finds an algorithm. Without a collective, the first of the catalog with that name is returned.
const Algorithm& algorithm_named(const std::string& name, const std::string& collective) {
    if (!collective.empty())
        return find_algorithm(parse_collective_form(collective).collective, name);
    std::vector<std::string> known;
    for (const Algorithm& row : catalog()) {
        if (row.name == name) return row;
        if (std::find(known.begin(), known.end(), row.name) == known.end())
            known.emplace_back(row.name);
    }
    throw Error(unknown_name("algorithm", name, known));
}

constexpr int most_ranks = 1 << 20;

}  // namespace

void TypedSchedule::set_words(const CLI::App& app, const Arguments& words,
                              std::string_view command) {
    if (!file.empty()) {
        refuse_together(app, "--from", {"what", "--ranks", "--root"});
        const FileAlgorithm& from = algorithm_in_file(file);
        name = from.row->name;
        collective = name_of(from.spec.collective());
        job.ranks = from.spec.ranks();
        job.root = from.spec.root();
        return;
    }
    if (words.empty()) throw Error(fmt::format("what is required; see 'tutti {} --help'", command));
    if (words.size() > 2)
        throw Error(
            fmt::format("'{}' is unexpected; use one algorithm and its collective, such as "
                        "'tutti {} ring all_reduce'",
                        words[2], command));
    name = words[0];
    if (words.size() > 1) collective = words[1];
}

void add_schedule(const OptionGroup& group, TypedSchedule& typed) {
    group.text("--from", typed.file,
               "Algorithm in a file of MSCCL (XML), MSCCL++, SCCL or TACCL (JSON), for its ranks");
    group.number("--ranks", typed.job.ranks, 1, most_ranks, "Number of ranks")
        ->capture_default_str();
    group.number("--root", typed.job.root.index, "Root rank of broadcast, reduce, scatter, gather");
    group.number("--segments", typed.job.segments, 1, 1 << 20, "Segments of pipelined algorithms");
    group.parsed(
        "--placement", typed.ways, "",
        [](const std::string& text) { return Ways(parse_placement(text, most_ranks)); },
        "Hosts x ranks (2x4), the host of each rank (a,a,b), parts of each level (switch:2,host:4,"
        "numa:2,cache:3,rank:8) or a machine's file, in copies (64xFILE); show prints which "
        "transfers go through memory, and which by message");
    group.number("--ranks-per-node", typed.per_node, 1, 1 << 20,
                 "Ranks per node of hierarchical algorithms");
    group.number("--ranks-per-island", typed.per_island, 1, 1 << 20,
                 "Ranks per island within a node, for three-level");
    for (const Knob& knob : knobs)
        if (*knob.proved != '\0')
            knob.visit(typed.configuration, [&](auto& value, const auto&) {
                if constexpr (std::is_same_v<decltype(value), int&>) {
                    if (knob.has_words()) {
                        group.parsed(
                            fmt::format("--{}", knob.name), value, knob.default_text(),
                            [&knob](const std::string& text) { return word_value_of(knob, text); },
                            knob.what);
                        return;
                    }
                    auto* option = group.number(fmt::format("--{}", knob.name), value,
                                                static_cast<int>(knob.least),
                                                static_cast<int>(knob.most), knob.what);
                    if (value >= knob.least) option->capture_default_str();
                }
            });
    group.text("--order-by", typed.order_file,
               "Rank order file with one line of ranks per channel");
}

BuiltSchedule build(TypedSchedule typed) {
    auto& [name, collective, order_file, file, ways, job, configuration, per_node, per_island] =
        typed;
    // Accepts both orders: "show ring all_reduce", and "show all_reduce ring" as in bench.
    for (const CollectiveForm& each : all_collective_forms())
        if (name_of(each) == name && !collective.empty()) std::swap(name, collective);
    const Algorithm& algorithm = algorithm_named(name, collective);
    if (ways) job.ranks = ways->ranks();
    if (job.root.index < 0 || job.root.index >= job.ranks)
        throw Error(fmt::format("--root {} is not below --ranks {}; use 0 to {}", job.root.index,
                                job.ranks, job.ranks - 1));
    if (order_file == "topology")
        throw Error(
            "--order-by topology cannot be used here, as there are no ranks on a machine; use "
            "--order-by FILE");
    Placement hosts = ways ? ways->placement()
                           : Placement::in_nodes_of(job.ranks, per_node > 0 ? per_node : job.ranks);
    if (per_island > 0) hosts = hosts.with_islands_of(per_island);
    Environment environment{.ranks = job.ranks, .hosts = std::move(hosts)};
    if (!order_file.empty() && order_file != "naive") {
        configuration.order = order_file;
        environment.orders[order_file] = read_order(order_file, job.ranks);
    }
    const int segments = job.segments;
    job = job_of({&algorithm, configuration, environment},
                 {.collective = algorithm.collective, .root = job.root}, job.ranks, {});
    job.segments = segments;
    if (const auto refusal = algorithm.refuses(job))
        throw Error(
            fmt::format("{} {} cannot be built: {}", name_of(job.collective), name, *refusal));
    if (job.segments > 1 && !algorithm.pipelines)
        throw Error(fmt::format("--segments cannot be used with {} {}, which is not pipelined",
                                name_of(job.collective), name));
    for (const Knob& knob : knobs)
        if (knob.of(configuration) != knob.default_value && !makes_use(algorithm, knob))
            throw Error(fmt::format("--{} cannot be used with {} {}, which takes no {}", knob.name,
                                    name_of(job.collective), name, knob.name));
    Schedule schedule = build_in_order(algorithm, job);
    return {algorithm, std::move(job), std::move(ways), std::move(schedule)};
}

}  // namespace tutti
