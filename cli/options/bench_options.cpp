// SPDX-License-Identifier: Apache-2.0
#include "cli/options/bench_options.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "cli/options/ranges.hpp"
#include "cli/options/shared_options.hpp"
#include "cli/options/typed_values.hpp"

namespace tutti {
namespace {

// As typed; one member per option, with its default.
struct Typed {
    std::string collective;
    std::string min_bytes = "8", max_bytes = "16M", step_bytes, counts;
    double step_factor = 4;
    std::string types = "float", ops = "sum", root = "0", in_place = "both";
    std::string algorithms = "all", transports = "all", baselines = "all", order_by = "naive";
    std::string target_ci = "2.5%", max_time = "0.2s", budget, sync = "auto", order = "random",
                stream_from;
    std::string buffers, input = "untouched", table_file = "tutti-table.json", model = "stored",
                         bound = "5%";
    std::map<std::string, std::string> knobs;
    std::string limits = "stored", fault, json_file, csv_file, output_file;
    long iterations = 0, warm_up = 3, graph = 1;
    int check = 1, ranks_per_node = 0, ranks_per_island = 0, one = 1;
    std::uint64_t seed = 1;
    bool raw = false, table_anyway = false;
    RankWords of_ranks;
};

void declare(CLI::App& app, Typed& typed) {
    app.add_option(
           "collective", typed.collective,
           "all_reduce reduce_scatter all_gather broadcast reduce scatter gather all_to_all")
        ->required();
    const std::string sweep = "What to sweep", race = "Who takes part", times = "How it is timed",
                      output = "Output", ranks = "Ranks";
    const auto text = [&](auto&&... words) { add_text(app, words...); };
    text("-b,--minbytes", typed.min_bytes,
         "smallest size (K, M, G = 1024), as nccl-tests counts it", sweep);
    text("-e,--maxbytes", typed.max_bytes, "largest size", sweep);
    app.add_option("-f,--stepfactor", typed.step_factor, "from size to size")
        ->group(sweep)
        ->capture_default_str();
    text("-i,--stepbytes", typed.step_bytes, "from size to size, added instead of multiplied",
         sweep);
    text("--counts", typed.counts, "element counts instead of sizes: 0,1,1000", sweep);
    text("-d,--datatype", typed.types, "types, a list or all", sweep);
    text("-o,--op", typed.ops, "operations, a list or all: sum prod min max avg", sweep);
    text("-r,--root", typed.root, "a rank or all", sweep);
    text("--inplace", typed.in_place, "no, yes or both", sweep);
    text("--buffers", typed.buffers,
         "registered (shared by the ranks of a host), unregistered (host says the same), pinned "
         "(unregistered, and a GPU copies from and to it by itself), device (of GPUs) or several, "
         "as a "
         "list; else registered where that is possible, or device if only plans on GPUs take part",
         sweep);
    text("--input", typed.input,
         "untouched between calls, or rewritten by its rank before each, outside of the time",
         sweep);
    text("--algo", typed.algorithms,
         "algorithms, a list, all or none (see 'tutti list'); auto chooses by --table, learn finds "
         "out "
         "while the calls are made",
         race);
    text("--table", typed.table_file,
         "of 'tutti tune', for auto; learn begins with it if it is there, and writes it", race);
    app.add_flag("--table-anyway", typed.table_anyway, "take a table of another topology")
        ->group(race);
    text("--learn-bound", typed.bound, "share of the time that learn may lose by trying", race);
    text("--transport", typed.transports, "transports, a list or all", race);
    text("--baseline", typed.baselines,
         "libraries' own collectives, a list, all or none; mpi/ring forces one of the library's "
         "algorithms, mpi/all tries every one",
         race);
    text("--stream-from", typed.stream_from,
         "bytes of all buffers from which results go past the caches; else whatever is faster",
         race);
    for (const Knob& knob : knobs)
        text("--" + std::string(knob.name), typed.knobs[knob.name] = knob.default_text(), knob.what,
             race);
    app.add_option("--ranks-per-node", typed.ranks_per_node,
                   "nodes for hierarchical algorithms; else the hosts")
        ->group(race)
        ->check(CLI::Range(1, 1 << 20));
    app.add_option(
           "--ranks-per-island", typed.ranks_per_island,
           "islands inside nodes for three-level; else the NUMA nodes that ranks are bound to")
        ->group(race)
        ->check(CLI::Range(1, 1 << 20));
    text("--order-by", typed.order_by,
         "who is whose neighbour: naive (as the launcher gave the ranks), topology (near ones side "
         "by side), a FILE with a line of ranks for each channel; or a list of these",
         race);
    text("--fault", typed.fault,
         "make loopback fail (cuda-emulated: stop): drop delay double corrupt "
         "stop[:from=R,to=R,step=S,nth=K]",
         race);
    app.add_option("-G,--cudagraph", typed.graph,
                   "on devices one launch does so many calls, on a GPU as a CUDA graph; times are "
                   "of one of them")
        ->group(times)
        ->check(CLI::Range(1, 10'000));
    app.add_option("-n,--iters", typed.iterations, "exactly so many timed calls")
        ->group(times)
        ->check(CLI::Range(1, 1000000000));
    app.add_option("-w,--warmup_iters", typed.warm_up, "at least so many calls before")
        ->group(times)
        ->check(CLI::Range(0, 1000000000))
        ->capture_default_str();
    text("--target-ci", typed.target_ci, "stop when the median is known so well", times);
    text("--max-time", typed.max_time, "stop after so much time in one row's calls", times);
    text("--budget", typed.budget, "about so long for the whole sweep: shortens --max-time", times);
    text("--sync", typed.sync,
         "start of a call: auto, deadline, barrier, or a row of calls at a barrier", times);
    text("--order", typed.order, "of candidates: random or given", times);
    app.add_option("--seed", typed.seed, "of that order and of the check data")
        ->group(times)
        ->capture_default_str();
    app.add_option("--limits", typed.limits,
                   "compare with what the machine allows: stored, measure, none or FILE")
        ->group(times)
        ->envname("TUTTI_LIMITS")
        ->capture_default_str();
    app.add_option("--model", typed.model,
                   "predict times by the cost model: stored (of --table, else as 'tutti tune' has "
                   "measured it last), none or FILE")
        ->group(times)
        ->envname("TUTTI_MODEL")
        ->capture_default_str();
    app.add_option("-c,--check", typed.check, "check results: 1 or 0")
        ->group(times)
        ->check(CLI::Range(0, 1000000))
        ->capture_default_str();
    typed.of_ranks.declare(app, times);
    text("--json", typed.json_file, "append records to this file (JSON Lines); folders are made",
         output);
    text("--csv", typed.csv_file, "write a table for spreadsheets", output);
    text("-J,--output_file", typed.output_file, "FILE.csv or FILE.jsonl", output);
    app.add_flag("--raw", typed.raw, "keep every sample in the records")->group(output);
    // What scripts for nccl-tests pass: one GPU and one thread per process is how ranks are here.
    app.add_option("-g,--ngpus", typed.one, "only 1: a rank is a process")
        ->group(ranks)
        ->check(CLI::Range(1, 1));
    app.add_option("-t,--nthreads", typed.one, "only 1")->group(ranks)->check(CLI::Range(1, 1));
}

std::vector<Bytes> sizes_of(const Typed& typed) {
    if (typed.step_bytes.empty())
        return sizes_by_factor(typed.min_bytes, typed.max_bytes, typed.step_factor);
    return sizes_by_step(typed.min_bytes, typed.max_bytes, typed.step_bytes);
}

Protocol protocol_of(const Typed& typed) {
    Protocol protocol;
    protocol.sync = sync_of(typed.sync);
    protocol.shuffle = word<bool>("--order", typed.order, {{"random", true}, {"given", false}});
    protocol.target_ci = target_of(typed.target_ci);
    protocol.max_seconds = parse_seconds(typed.max_time);
    protocol.fixed_samples = typed.iterations;
    protocol.warm_up_calls = typed.warm_up;
    protocol.seed = typed.seed;
    return protocol;
}

// Each once.
std::vector<std::string> orders_of(const std::string& text) {
    std::vector<std::string> orders;
    for (const auto& name : split_list(text))
        if (std::ranges::find(orders, name) == orders.end()) orders.push_back(name);
    if (orders.empty()) throw Error("--order-by names no order; type naive, topology or a file");
    return orders;
}

// The file that -J names goes by its ending, as in nccl-tests.
void sort_output_file(Typed& typed) {
    if (typed.output_file.empty()) return;
    auto& goal = typed.output_file.ends_with(".csv") ? typed.csv_file : typed.json_file;
    if (!goal.empty())
        throw Error("-J " + typed.output_file + " and " + goal +
                    " are the same thing twice; leave one out");
    goal = typed.output_file;
}

}  // namespace

std::optional<BenchOptions> parse_bench(const Arguments& arguments) {
    Typed typed;
    CLI::App app{"Sweeps sizes over algorithms, transports and libraries, every result checked.",
                 "tutti bench"};
    declare(app, typed);
    if (parse_or_help(app, arguments)) return std::nullopt;
    sort_output_file(typed);

    BenchOptions options;
    options.collective = options.sweep.collective = parse_collective(typed.collective);
    auto algorithms = split_list(typed.algorithms);
    for (const char* name : {"auto", "learn"})
        if (std::erase(algorithms, name) > 0) options.choosing.emplace_back(name);
    if (algorithms.empty() && !options.choosing.empty()) algorithms = {"none"};
    options.search_space = {algorithms, split_list(typed.transports), split_list(typed.baselines),
                            orders_of(typed.order_by)};
    for (const Knob& knob : knobs)
        options.search_space.knobs[knob.name] = values_of(knob, typed.knobs.at(knob.name));
    // Throws for unknown names too, before any rank starts.
    if (candidates(options.collective, options.search_space).empty() && options.choosing.empty())
        throw Error("nobody takes part; type --algo all or --baseline all");
    Sweep& sweep = options.sweep;
    if (typed.counts.empty())
        sweep.sizes = sizes_of(typed);
    else
        sweep.counts = counts_of(typed.counts);
    sweep.types = values_of(typed.types, all_data_types(), parse_data_type);
    sweep.ops = values_of(typed.ops, all_ops(), parse_op);
    sweep.in_place = word<std::vector<bool>>(
        "--inplace", typed.in_place, {{"no", {false}}, {"yes", {true}}, {"both", {false, true}}});
    sweep.buffers = buffer_kinds_of(typed.buffers);
    options.runs_on_devices = static_cast<unsigned>(typed.graph);
    sweep.input = word<InputState>(
        "--input", typed.input,
        {{"untouched", InputState::untouched}, {"rewritten", InputState::rewritten}});
    sweep.check = typed.check != 0;
    sweep.ranks_per_node = typed.ranks_per_node;
    sweep.ranks_per_island = typed.ranks_per_island;
    if (typed.ranks_per_node > 0 && typed.ranks_per_island > typed.ranks_per_node)
        throw Error(
            fmt::format("islands of {} ranks do not fit into nodes of {}; type a smaller "
                        "--ranks-per-island",
                        typed.ranks_per_island, typed.ranks_per_node));
    sweep.protocol = protocol_of(typed);
    if (!typed.budget.empty()) sweep.budget_seconds = parse_seconds(typed.budget);
    options.all_roots = typed.root == "all";
    if (!options.all_roots) sweep.roots = {root_of(typed.root)};
    options.ranks = typed.of_ranks.options(typed.json_file);
    if (!typed.fault.empty()) options.fault = parse_fault(typed.fault);
    if (options.fault && options.search_space.transports != std::vector<std::string>{"loopback"})
        throw Error("--fault needs the transport that can fail; add --transport loopback");
    if (!typed.stream_from.empty()) options.stream_from = parse_bytes(typed.stream_from);
    options.pin = typed.of_ranks.pins();
    options.table_file = typed.table_file;
    options.table_anyway = typed.table_anyway;
    options.learning_bound = parse_fraction(typed.bound);
    options.model = typed.model;
    options.limits = typed.limits;
    options.json_file = typed.json_file;
    options.csv_file = typed.csv_file;
    options.keep_samples = typed.raw;
    options.as_understood = understood(app);
    return options;
}

}  // namespace tutti
