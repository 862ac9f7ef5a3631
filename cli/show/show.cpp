// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <iostream>
#include <map>
#include <optional>

#include "base/output.hpp"
#include "base/source.hpp"
#include "cli/options/algorithm_files.hpp"
#include "cli/options/options.hpp"
#include "cli/options/values.hpp"
#include "cli/script.hpp"
#include "cli/show/stored_tables.hpp"
#include "cli/show/stragglers.hpp"
#include "cli/show/typed_schedule.hpp"
#include "collectives/algorithms/catalog.hpp"
#include "collectives/schedule/count.hpp"
#include "collectives/schedule/crossing.hpp"
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
    const std::vector<RankGroups> groups =
        ways ? groups_to_count(*ways) : std::vector<RankGroups>{each_alone(job.ranks)};
    const std::vector<Counts> all = count_crossings(schedule, spec, groups, most_transfers);
    const Counts& counts = all.back();  // each rank alone
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
    if (ways) fmt::print("{}", describe_ways(*ways, spec, all));
    print_proof(schedule, spec);
    fmt::print("n is {}; bounds assume one message at a time in each direction\n",
               job.collective == Collective::all_to_all ? "the data sent by one rank"
               : spec.blocks() == 1                     ? "the vector"
                                                        : "the blocks of all ranks");
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

// Anything else that exists is read as a results file, so that the message says what is wrong with
// it.
bool names_a_file(const std::string& word) {
    if (is_path(word)) return true;
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

// Selects the output of a schedule.
struct ShownParts {
    std::string svg;
    int most_steps = 64;
};

Exit show_schedule(TypedSchedule typed, const ShownParts& parts, bool as_json) {
    const BuiltSchedule built = build(std::move(typed));
    const auto& [algorithm, job, ways, schedule] = built;
    const WayOf names = ways ? ways->names() : WayOf();
    const std::string json =
        as_json || !parts.svg.empty()
            ? fmt::format(R"({{"collective":"{}","algorithm":"{}","schedule":{}}})",
                          name_of(job.collective), algorithm.name, to_json(schedule, names))
            : "";
    if (!parts.svg.empty()) write_file(parts.svg, drawn("schedule", json, parts.svg), "--svg");
    if (as_json) {
        fmt::print("{}\n", json);
        return Exit::ok;
    }
    print_counts(algorithm, job, schedule, ways);
    if (schedule.steps() <= parts.most_steps && job.ranks <= 64)
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
    ShownParts parts;
    TypedResults typed_results;
    CLI::App app{
        "Describes a schedule and its cost against the lower bounds, prints the tables of results "
        "files, or finds the rank that others wait for in logs of collectives.",
        "tutti show"};
    app.add_option("what", words,
                   "Algorithm (see 'tutti list') and its collective (default: the first that has "
                   "it), results files (*.jsonl), or logs for --stragglers");
    bool finds_stragglers = false;
    app.add_flag("--stragglers", finds_stragglers,
                 "Find slow and missing ranks in logs of NCCL (inspector, RAS, NCCL_DEBUG, "
                 "libtutti_nccl), PyTorch (profiler, flight recorder) or mpiP: files or a folder");
    const OptionGroup of_schedule{app, "Options for an algorithm"},
        of_tables{app, "Options for results files"};
    app.add_flag(
        "--json", typed_results.as_json,
        "Print JSON: the transfers of each step, rankings, ratios, intervals and cautions of "
        "results, or the ranks of --stragglers");
    add_schedule(of_schedule, typed);
    of_schedule.number("--steps", parts.most_steps, "Number of steps to describe in words")
        ->capture_default_str();
    of_schedule.text("--svg", parts.svg, "SVG file for a drawing of the schedule ");
    add_tables(of_tables, typed_results);
    if (parse_or_help(app, arguments)) return Exit::ok;
    if (finds_stragglers) {
        refuse_options_of(of_schedule, "--stragglers");
        refuse_options_of(of_tables, "--stragglers");
        return show_stragglers(words, typed_results.as_json);
    }
    if (!words.empty() && names_a_file(words.front())) {
        refuse_options_of(of_schedule, "results files");
        return show_results(words, typed_results);
    }
    refuse_options_of(of_tables, "an algorithm");
    refuse_together(app, "--placement", {"--ranks", "--ranks-per-node"});
    typed.set_words(app, words, "show");
    return show_schedule(std::move(typed), parts, typed_results.as_json);
}

}  // namespace tutti
