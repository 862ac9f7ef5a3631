// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "base/name_table.hpp"
#include "base/replace_file.hpp"
#include "cli/options/options.hpp"
#include "collectives/algorithms/catalog.hpp"
#include "collectives/schedule/count.hpp"
#include "collectives/schedule/print.hpp"
#include "collectives/schedule/verify.hpp"

namespace tutti {
namespace {

// The collective may be left out where only one has an algorithm of that name; else the first of
// the catalog that has it.
const Algorithm& algorithm_named(const std::string& name, const std::string& collective) {
    if (!collective.empty()) return find_algorithm(parse_collective(collective), name);
    std::vector<std::string> known;
    for (const Algorithm& row : catalog()) {
        if (row.name == name) return row;
        if (std::find(known.begin(), known.end(), row.name) == known.end())
            known.emplace_back(row.name);
    }
    throw Error(unknown_name("algorithm", name, known));
}

constexpr long most_transfers = 300'000'000;

// The proof keeps some 500 bytes for each chunk of each rank.
constexpr long most_proved = 6'000'000;

void print_proof(const Schedule& schedule, const CollectiveSpec& spec) {
    if (static_cast<long>(schedule.ranks()) * schedule.chunks() > most_proved) {
        fmt::print("proof      not made: it would take too much memory; type --ranks with fewer\n");
        return;
    }
    const Proof proof = prove(schedule, spec);
    fmt::print("proof      {}\n", proof.fault ? "WRONG: " + *proof.fault : std::string("delivers"));
    if (spec.reduces())
        fmt::print("bits       {}\n", proof.same_order_everywhere
                                          ? "the same on all ranks"
                                          : "ranks may differ in the last ones");
}

void print_counts(const Algorithm& algorithm, const Job& job, const Schedule& schedule) {
    const CollectiveSpec spec{job.collective, job.ranks, job.root};
    const Counts counts = count(schedule, spec, most_transfers);
    const LowerBound bound = lower_bound(job.collective, job.ranks);
    const auto vectors = [&](long chunks) {
        return fmt::format("{:.4g} n", static_cast<double>(chunks) / counts.chunks_per_vector);
    };
    fmt::print("{} {} on {} ranks: {}\n\n", name_of(job.collective), algorithm.name, job.ranks,
               algorithm.idea);
    fmt::print("steps      {:<12} at least {}\n", counts.steps, bound.steps);
    fmt::print("sent       {:<12} by the busiest rank\n", vectors(counts.most_sent()));
    fmt::print("received   {:<12} by the busiest rank; of sent and received at least {:.4g} n\n",
               vectors(counts.most_received()), bound.busiest);
    fmt::print("messages   {:<12} in all\n", counts.transfers);
    print_proof(schedule, spec);
    fmt::print("n is {}; bounds are for one message at a time in each direction\n",
               job.collective == Collective::all_to_all ? "what one rank sends in all"
               : spec.blocks() == 1                     ? "the vector"
                                                        : "all ranks' blocks together");
}

}  // namespace

Exit run_show(const Arguments& arguments) {
    std::string name, collective, svg, order_file;
    Job job{.ranks = 4};
    int per_node = 0, per_island = 0, channels = 1, most_steps = 64;
    CLI::App app{"A schedule in words, counted against the lower bounds.", "tutti show"};
    app.add_option("algorithm", name, "as 'tutti list' names it")->required();
    app.add_option("collective", collective, "default: the first that has the algorithm");
    app.add_option("--ranks", job.ranks, "how many")
        ->check(CLI::Range(1, 1 << 20))
        ->capture_default_str();
    app.add_option("--root", job.root.index, "of broadcast, reduce, scatter, gather");
    app.add_option("--segments", job.segments, "of pipelined algorithms")
        ->check(CLI::Range(1, 1 << 20));
    app.add_option("--radix", job.radix, "of algorithms that take one: what a step multiplies by")
        ->check(CLI::Range(2, most_radix));
    app.add_option("--ranks-per-node", per_node, "nodes of hierarchical algorithms")
        ->check(CLI::Range(1, 1 << 20));
    app.add_option("--ranks-per-island", per_island, "islands inside nodes, of three-level")
        ->check(CLI::Range(1, 1 << 20));
    app.add_option("--channels", channels, "shares of the message at the same time")
        ->check(CLI::Range(1, most_channels))
        ->capture_default_str();
    app.add_option("--order-by", order_file, "a file with a line of ranks for each channel");
    app.add_option("--steps", most_steps, "how many steps to describe in words")
        ->capture_default_str();
    app.add_option("--svg", svg, "also draw it into this file");
    if (parse_or_help(app, arguments)) return Exit::ok;

    // Both orders are natural: "show ring all_reduce", and "show all_reduce ring" as bench has it.
    for (const Collective each : all_collectives())
        if (name_of(each) == name && !collective.empty()) std::swap(name, collective);
    const Algorithm& algorithm = algorithm_named(name, collective);
    job.collective = algorithm.collective;
    if (job.root.index < 0 || job.root.index >= job.ranks)
        throw Error(fmt::format("root {} is not among {} ranks; type --root 0 .. {}",
                                job.root.index, job.ranks, job.ranks - 1));
    job.placement =
        Placement::in_nodes_of(job.ranks, per_node > 0 ? per_node : job.ranks, per_island);
    if (order_file == "topology")
        throw Error("show has no ranks on a machine to put in order; type --order-by FILE");
    if (!order_file.empty() && order_file != "naive") job.order = read_order(order_file, job.ranks);
    job.order = channels_of(job.order, channels, job.ranks);
    if (const auto refusal = algorithm.refuses(job))
        throw Error(
            fmt::format("{} {} cannot be built: {}", name_of(job.collective), name, *refusal));
    if (job.segments > 1 && !algorithm.pipelines)
        throw Error(fmt::format("{} {} is not pipelined; leave --segments out",
                                name_of(job.collective), name));
    if (job.radix > 0 && !algorithm.takes_radix)
        throw Error(
            fmt::format("{} {} takes no radix; leave --radix out", name_of(job.collective), name));
    const Schedule schedule = build_in_order(algorithm, job);
    print_counts(algorithm, job, schedule);
    if (schedule.steps() <= most_steps && job.ranks <= 64)
        fmt::print("\n{}", in_words(schedule));
    else
        fmt::print(
            "\n({} steps on {} ranks are not described in words; --steps raises the limit)\n",
            schedule.steps(), job.ranks);
    if (!svg.empty())
        write_file(svg,
                   as_svg(schedule,
                          fmt::format("{} {}, {} ranks", name_of(job.collective), name, job.ranks)),
                   "--svg");
    return Exit::ok;
}

}  // namespace tutti
