// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <iostream>
#include <map>
#include <optional>

#include "base/collective_form.hpp"
#include "base/name_table.hpp"
#include "base/output.hpp"
#include "base/source.hpp"
#include "cli/options/options.hpp"
#include "cli/options/values.hpp"
#include "cli/script.hpp"
#include "cli/show/stored_tables.hpp"
#include "cli/show/ways.hpp"
#include "collectives/algorithms/catalog.hpp"
#include "collectives/planner/planner.hpp"
#include "collectives/schedule/count.hpp"
#include "collectives/schedule/print.hpp"
#include "collectives/schedule/verify.hpp"
#include "results/stored/by_launch.hpp"
#include "results/stored/printable_results.hpp"
#include "results/summary/selection.hpp"
#include "results/summary/summary_json.hpp"
#include "results/tables/csv.hpp"
#include "results/tables/markdown.hpp"

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

constexpr long most_transfers = 300'000'000;

// The proof needs about 500 bytes for each chunk of each rank.
constexpr long most_proved = 6'000'000;

void print_proof(const Schedule& schedule, const CollectiveSpec& spec) {
    if (static_cast<long>(schedule.ranks()) * schedule.chunks() > most_proved) {
        fmt::print("proof      skipped: too much memory needed; use smaller --ranks\n");
        return;
    }
    const Proof proof = prove(schedule, spec);
    fmt::print("proof      {}\n", proof.fault ? "WRONG: " + *proof.fault : std::string("delivers"));
    if (reduces(spec.collective()) && !is_prefix(spec.collective()))
        fmt::print("bits       {}\n", proof.same_order_everywhere
                                          ? "the same on all ranks"
                                          : "ranks may differ in the last bits");
}

void print_counts(const Algorithm& algorithm, const Job& job, const Schedule& schedule,
                  const std::optional<Ways>& ways) {
    const CollectiveSpec spec{job.collective, job.ranks, job.root};
    const Counts counts = count(schedule, spec, most_transfers);
    const LowerBound bound = lower_bound(job.collective, job.ranks);
    const auto vectors = [&](long chunks) {
        return fmt::format("{:.4g} n", static_cast<double>(chunks) / counts.chunks_per_vector);
    };
    fmt::print("{} {} on {} ranks: {}\n\n", name_of(job.collective), algorithm.name, job.ranks,
               algorithm.idea);
    fmt::print("steps      {:<12} lower bound {}\n", counts.steps, bound.steps);
    fmt::print("sent       {:<12} by the busiest rank\n", vectors(counts.most_sent()));
    fmt::print("received   {:<12} by the busiest rank; lower bound of sent and received {:.4g} n\n",
               vectors(counts.most_received()), bound.busiest);
    fmt::print("messages   {:<12} in total\n", counts.messages);
    if (ways) fmt::print("{}", describe_ways(*ways, schedule, spec));
    print_proof(schedule, spec);
    fmt::print("n is {}; bounds assume one message at a time in each direction\n",
               job.collective == Collective::all_to_all ? "the data sent by one rank"
               : spec.blocks() == 1                     ? "the vector"
                                                        : "the blocks of all ranks");
}

// Options for a schedule as typed.
struct TypedSchedule {
    std::string name, collective, svg, order_file;
    std::optional<Ways> ways;
    bool as_json = false;
    Job job{.ranks = 4};
    Configuration configuration;
    int per_node = 0, per_island = 0, most_steps = 64;
};

constexpr int most_ranks = 1 << 20;

void add_schedule(const OptionGroup& group, TypedSchedule& typed) {
    group.number("--ranks", typed.job.ranks, 1, most_ranks, "Number of ranks")
        ->capture_default_str();
    group.number("--root", typed.job.root.index, "Root rank of broadcast, reduce, scatter, gather");
    group.number("--segments", typed.job.segments, 1, 1 << 20, "Segments of pipelined algorithms");
    group.parsed(
        "--placement", typed.ways, "",
        [](const std::string& text) { return Ways(hosts_of_ranks(text, most_ranks)); },
        "Hosts x ranks (2x4), or the host of each rank (a,a,b): prints which transfers go "
        "through memory, and which by message");
    group.number("--ranks-per-node", typed.per_node, 1, 1 << 20,
                 "Ranks per node of hierarchical algorithms");
    group.number("--ranks-per-island", typed.per_island, 1, 1 << 20,
                 "Ranks per island within a node, for three-level");
    for (const Knob& knob : knobs)
        if (*knob.proved != '\0')
            knob.visit(typed.configuration, [&](auto& value, const auto&) {
                if constexpr (std::is_same_v<decltype(value), int&>) {
                    auto* option = group.number(fmt::format("--{}", knob.name), value,
                                                static_cast<int>(knob.least),
                                                static_cast<int>(knob.most), knob.what);
                    if (value >= knob.least) option->capture_default_str();
                }
            });
    group.text("--order-by", typed.order_file,
               "Rank order file with one line of ranks per channel");
    group.number("--steps", typed.most_steps, "Number of steps to describe in words")
        ->capture_default_str();
    group.text("--svg", typed.svg, "SVG file for a drawing of the schedule ");
}

// Options for results files as typed.
struct TypedResults {
    TableStyle style;
    bool as_json = false, as_csv = false, as_markdown = false;
    std::string candidates, sizes;
};

void add_tables(const OptionGroup& group, TypedResults& typed) {
    group.flag("--all-rows", typed.style.all_rows,
               "Print the rows of all candidates, however many there are");
    group.flag(
        "--csv", typed.as_csv,
        "Print a CSV table of the points, training steps or verdicts, as 'tutti bench --csv'");
    group.flag("--markdown", typed.as_markdown,
               "Print the rankings and comparisons as Markdown tables");
    group.text("--like", typed.style.like, "Output format of sweeps: tutti, nccl-tests or osu");
    group.text("--candidates", typed.candidates,
               "Algorithms, transports and libraries to show, e.g. ring,tree/shm,mpi");
    group.text("--sizes", typed.sizes, "Sizes and ranges to show, e.g. 8,4K..1M");
}

Selection selection_of(const TypedResults& typed) {
    Selection selection{.candidates = split_list(typed.candidates), .sizes = {}};
    for (const std::string& size : split_list(typed.sizes))
        selection.sizes.push_back(parse_size_range(size));
    return selection;
}

// Names of algorithms and collectives have no dots or slashes. Anything else that exists is read as
// a results file, so that the message says what is wrong with it.
bool names_a_file(const std::string& word) {
    if (word.find_first_of("./") != word.npos) return true;
    const auto is_called_so = [&](const Algorithm& row) {
        return row.name == word || name_of(row.collective) == word;
    };
    return std::filesystem::exists(word) && std::ranges::none_of(catalog(), is_called_so);
}

// Refuses options that belong to the other kind of argument.
void refuse_options_of(const OptionGroup& other, const std::string& shown) {
    for (const CLI::Option* option : other.app().get_options())
        if (option->get_group() == other.heading() && option->count() > 0)
            throw Error(fmt::format("{} cannot be used with {}", option->get_name(), shown));
}

Exit show_schedule(TypedSchedule typed) {
    auto& [name, collective, svg, order_file, ways, as_json, job, configuration, per_node,
           per_island, most_steps] = typed;
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
            "--order-by topology cannot be used with show, which has no ranks on a machine; use "
            "--order-by FILE");
    Placement hosts = ways ? ways->hosts()
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
    const Schedule schedule = build_in_order(algorithm, job);
    const WayOf names = ways ? ways->names() : WayOf();
    const std::string json =
        as_json || !svg.empty()
            ? fmt::format(R"({{"collective":"{}","algorithm":"{}","schedule":{}}})",
                          name_of(job.collective), name, to_json(schedule, names))
            : "";
    if (!svg.empty()) write_file(svg, drawn("schedule", json, svg), "--svg");
    if (as_json) {
        fmt::print("{}\n", json);
        return Exit::ok;
    }
    print_counts(algorithm, job, schedule, ways);
    if (schedule.steps() <= most_steps && job.ranks <= 64)
        fmt::print("\n{}", in_words(schedule, names));
    else
        fmt::print("\n({} steps on {} ranks are too many to describe; --steps raises the limit)\n",
                   schedule.steps(), job.ranks);
    return Exit::ok;
}

Exit show_results(const Arguments& files, const TypedResults& typed) {
    if ((typed.as_json && (typed.as_csv || typed.as_markdown)) ||
        (typed.as_csv && typed.as_markdown))
        throw Error("--json, --csv and --markdown are mutually exclusive; use one of them");
    const Selection selection = selection_of(typed);
    std::map<std::string, std::string> file_of;
    Results all = read_runs(files, file_of);
    if (!typed.as_json)  // the JSON object contains them
        for (const std::string& warning : all.warnings)
            fmt::print(stderr, "tutti: {}\n", printable(warning));
    try {
        select(all, selection);
        if (typed.as_json) {
            write_summary(std::cout, all, file_of);
            return Exit::ok;
        }
        if (typed.as_csv || typed.as_markdown) make_printable(all);
        if (typed.as_csv) {
            write_csv(std::cout, all);
            return Exit::ok;
        }
        if (typed.as_markdown) {
            fmt::print("{}", markdown_tables(all));
            return Exit::ok;
        }
        const StoredTables tables = stored_tables(std::move(all), typed.style);
        fmt::print("{}", tables.text);
        return tables.code;
    } catch (const Error& error) {
        throw Error(fmt::format("'{}': {}", fmt::join(files, "', '"), error.what()), error.code());
    }
}

}  // namespace

Exit run_show(const Arguments& arguments) {
    Arguments words;
    TypedSchedule typed;
    TypedResults typed_results;
    CLI::App app{
        "Describes a schedule and its cost against the lower bounds, or prints the tables of "
        "results files.",
        "tutti show"};
    app.add_option("what", words,
                   "Algorithm (see 'tutti list') and its collective (default: the first that has "
                   "it), or results files (*.jsonl)")
        ->required();
    const OptionGroup of_schedule{app, "Options for an algorithm"},
        of_tables{app, "Options for results files"};
    app.add_flag("--json", typed_results.as_json,
                 "Print JSON: the transfers of each step, or rankings, ratios, intervals and "
                 "cautions of results");
    add_schedule(of_schedule, typed);
    add_tables(of_tables, typed_results);
    if (parse_or_help(app, arguments)) return Exit::ok;
    refuse_together(app, "--placement", {"--ranks", "--ranks-per-node"});
    if (names_a_file(words.front())) {
        refuse_options_of(of_schedule, "results files");
        return show_results(words, typed_results);
    }
    refuse_options_of(of_tables, "an algorithm");
    if (words.size() > 2)
        throw Error("'" + words[2] +
                    "' is unexpected; use one algorithm and its collective, such as 'tutti show "
                    "ring all_reduce'");
    typed.as_json = typed_results.as_json;
    typed.name = words[0];
    if (words.size() > 1) typed.collective = words[1];
    return show_schedule(std::move(typed));
}

}  // namespace tutti
