// SPDX-License-Identifier: Apache-2.0
#include "cli/options/bench_options.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <utility>

#include "cli/options/options.hpp"
#include "cli/options/values.hpp"
#include "workloads/numerics/sum_examiner.hpp"

namespace tutti {
namespace {

// Each once.
std::vector<std::string> parse_orders(const std::string& text) {
    std::vector<std::string> orders;
    for (const auto& name : split_list(text))
        if (std::ranges::find(orders, name) == orders.end()) orders.push_back(name);
    if (orders.empty()) throw Error("--order-by names no order; type naive, topology or a file");
    return orders;
}

std::string names_of(const auto& values) {
    std::vector<std::string_view> names;
    for (const auto value : values) names.push_back(name_of(value));
    return fmt::format("{}", fmt::join(names, " "));
}

void add_sweep(const OptionGroup& group, BenchOptions& options, SizeSweep& range) {
    Sweep& sweep = options.sweep;
    group.parsed("-b,--minbytes", range.first, "8", parse_bytes,
                 "smallest size (K, M, G = 1024), as nccl-tests counts it");
    group.parsed("-e,--maxbytes", range.last, "16M", parse_bytes, "largest size");
    group.parsed("-f,--stepfactor", range.factor, "4", parse_factor, "from size to size")
        ->type_name("FLOAT");
    group.parsed("-i,--stepbytes", range.step, "", parse_step,
                 "from size to size, added instead of multiplied");
    group.parsed("--counts", sweep.counts, "", parse_counts,
                 "element counts instead of sizes: 0,1,1000");
    group.parsed("-d,--datatype", sweep.types, "float", list_of(all_data_types(), parse_data_type),
                 "types, a list or all: " + names_of(all_data_types()));
    group.parsed("-o,--op", sweep.ops, "sum", list_of(all_ops(), parse_op),
                 "operations, a list or all: " + names_of(all_ops()));
    group.parsed("-r,--root", options.root, "0", parse_root, "a rank or all");
    group.parsed("--inplace", sweep.in_place, "both",
                 one_of<std::vector<bool>>(
                     "--inplace", {{"no", {false}}, {"yes", {true}}, {"both", {false, true}}}),
                 "whether the output is the input's buffer");
    group.parsed(
        "--buffers", sweep.buffers, "", parse_buffers,
        "registered (shared by the ranks of a host), unregistered (host says the same), mapped (in "
        "the heap of libtutti_heap.so, which peers map), pinned (unregistered, and a GPU copies "
        "from and to it by itself), device (of GPUs) or several, "
        "as a list; else registered where that is possible, or device if only plans on GPUs take "
        "part");
    group.parsed("--input", sweep.input, "untouched",
                 one_of<InputState>("--input", {{"untouched", InputState::untouched},
                                                {"rewritten", InputState::rewritten}}),
                 "between calls; rewritten: by its rank before each, outside of the time");
}

void add_trials(const OptionGroup& group, BenchOptions& options) {
    SearchSpace& space = options.search_space;
    group.parsed(
        "--algo", space.algorithms, "all", split_list,
        "algorithms, a list, all or none (see 'tutti list'); auto chooses by --table, else "
        "by built-in rules, learn finds out while the calls are made");
    group.text("--table", options.table_file,
               "of 'tutti tune', for auto; learn begins with it if it is there, and writes it");
    group.flag("--table-anyway", options.table_anyway, "take a table of another topology");
    group.parsed("--learn-bound", options.learning_bound, "5%", parse_fraction,
                 "share of the time that learn may lose by trying");
    group.parsed("--transport", space.transports, "all", split_list, "transports, a list or all");
    group.parsed("--baseline", space.baselines, "all", split_list,
                 "libraries' own collectives, a list, all or none; mpi/ring forces one of the "
                 "library's algorithms, mpi/all tries every one");
    options.named.add_option(group);
    group.parsed("--stream-from", options.stream_from, "", parse_bytes,
                 "bytes of all buffers from which results go past the caches; else whatever is "
                 "faster");
    for (const Knob& knob : knobs)
        group.parsed("--" + std::string(knob.name), space.knobs[knob.name], knob.default_text(),
                     values_of(knob), knob.help);
    group.number("--ranks-per-node", options.sweep.ranks_per_node, 1, 1 << 20,
                 "nodes for hierarchical algorithms; else the hosts");
    group.number("--ranks-per-island", options.sweep.ranks_per_island, 1, 1 << 20,
                 "islands inside nodes for three-level; else the NUMA nodes that ranks are bound "
                 "to");
    group.parsed("--order-by", space.orders, "naive", parse_orders,
                 "who is whose neighbour: naive (as the launcher gave the ranks), topology (near "
                 "ones side by side), a FILE with a line of ranks for each channel; or a list of "
                 "these");
    group.parsed("--fault", options.fault, "", parse_fault,
                 "make loopback fail (cuda-emulated: stop): drop delay double corrupt "
                 "stop[:from=R,to=R,step=S,nth=K]");
}

void add_timing(const OptionGroup& group, BenchOptions& options) {
    Sweep& sweep = options.sweep;
    Protocol& protocol = sweep.protocol;
    group
        .number("-G,--cudagraph", options.runs_on_devices, 1, 10'000,
                "on devices one launch does so many calls, on a GPU as a CUDA graph; times are of "
                "one of them")
        ->type_name("INT");
    group.number("-n,--iters", protocol.fixed_samples, 1, 1'000'000'000,
                 "exactly so many timed calls");
    group
        .number("-w,--warmup_iters", protocol.warm_up_calls, 0, 1'000'000'000,
                "at least so many calls before")
        ->capture_default_str();
    group.parsed("--target-ci", protocol.target_ci, "2.5%", parse_target,
                 "stop when the median is known so well");
    group.parsed("--max-time", protocol.max_seconds, "0.2s", parse_seconds,
                 "stop after so much time in one row's calls");
    group.parsed("--batch-time", protocol.batch_seconds, "1ms", parse_seconds,
                 "about so long one candidate's calls before the next one's; energy wants 5ms or "
                 "more");
    group.parsed("--budget", sweep.budget_seconds, "", parse_seconds,
                 "about so long for the whole sweep: shortens --max-time");
    group.parsed("--sync", protocol.sync, "auto", parse_sync,
                 "how a call starts; row: many of them behind one barrier");
    group.parsed("--order", protocol.shuffle, "random",
                 one_of<bool>("--order", {{"random", true}, {"given", false}}), "of candidates");
    group.seed(protocol.seed, "of that order and of the check data");
    add_limits(group, options.run, "compare with what the machine allows");
    group
        .text("--model", options.model,
              "predict times by the cost model: stored (of --table, else as 'tutti tune' has "
              "measured it last), none or FILE")
        ->envname("TUTTI_MODEL");
    const auto set_check = [&sweep](const int& typed) { sweep.check = typed != 0; };
    group.app()
        .add_option_function<int>("-c,--check", set_check, "check results: 1 or 0")
        ->group(group.heading())
        ->check(CLI::Range(0, 1'000'000))
        ->default_str("1");
    add_rank_options(group, options.run);
    add_launches({group.app(), "Ranks"}, options.run);
}

void add_output(const OptionGroup& group, BenchOptions& options, std::string& output_file) {
    add_results_file(group, options.run);
    group.text("--csv", options.csv_file, "write a table for spreadsheets");
    group.text("-J,--output_file", output_file,
               "FILE.csv or FILE.jsonl; with --like nccl-tests also FILE.json in its shape");
    group.text("--like", options.like,
               "print as tutti, nccl-tests (a row a size: of the fastest candidate) or osu");
    group.flag("--raw", options.keep_samples, "keep every sample in the records");
    group.text("--timeline", options.timeline_file,
               "write one call of each row as a trace for Perfetto: each rank's steps and waits");
    group.flag("--numerics", options.numerics,
               "also what sums are worth: largest error in ULP, same bits on all ranks and run to "
               "run");
    group.flag("--all-rows", options.all_rows,
               "print every candidate's row, however many there are");
}

// Options that scripts for nccl-tests pass: one GPU and one thread per process is how ranks are
// here.
void add_only_one(const OptionGroup& group, const std::string& names, const std::string& what) {
    group.app()
        .add_option_function<int>(
            names, [](const int&) {}, what)
        ->group(group.heading())
        ->check(CLI::Range(1, 1));
}

// The file that -J names goes by its ending, as in nccl-tests.
void sort_output_file(const std::string& output_file, BenchOptions& options) {
    if (output_file.empty()) return;
    const std::string ending = std::filesystem::path(output_file).extension();
    if (ending == ".json" && options.like != "tutti") {
        options.output_file = output_file;
        return;
    }
    const bool is_table = ending == ".csv";
    if (!is_table && ending != ".json" && ending != ".jsonl")
        throw Error("-J " + output_file + ": in which form? type -J FILE.jsonl or -J FILE.csv");
    auto& goal = is_table ? options.csv_file : options.run.ranks.results_file;
    if (!goal.empty())
        throw Error("-J " + output_file + " and " + goal +
                    " are the same thing twice; leave one out");
    goal = output_file;
}

// What is found out beside times has no place where another process tells of these.
void expect_one_launch(const BenchOptions& options, const char* asked) {
    if (options.run.starts_launches() || !options.turns.empty())
        throw Error(
            fmt::format("{} is of one launch; leave --launches, --launcher or 'tutti "
                        "compare' out",
                        asked));
}

void check_numerics(const BenchOptions& options) {
    if (!options.numerics) return;
    expect_one_launch(options, "--numerics");
    for (const DataType type : options.sweep.types)
        for (const Op op : options.sweep.ops)
            if (const auto reason = refuses_numerics(options.sweep.collective, type, op))
                throw Error(*reason);
}

// A device such as /dev/null may be named as often as one likes.
bool is_one_file(const std::string& a, const std::string& b) {
    namespace fs = std::filesystem;
    std::error_code none;
    if (fs::exists(a, none)) return fs::is_regular_file(a, none) && fs::equivalent(a, b, none);
    const fs::path whole = fs::weakly_canonical(fs::absolute(a), none);
    return !whole.empty() && whole == fs::weakly_canonical(fs::absolute(b), none);
}

// One output would wipe out the other.
void expect_a_file_each(const BenchOptions& options) {
    std::vector<std::pair<const char*, std::string>> outputs = {
        {"--json", options.run.results_file()},
        {"--csv", options.csv_file},
        {"--timeline", options.timeline_file},
        {"-J", options.output_file}};
    std::erase_if(outputs, [](const auto& output) { return output.second.empty(); });
    for (auto one = outputs.begin(); one != outputs.end(); ++one)
        for (auto other = outputs.begin(); other != one; ++other)
            if (is_one_file(one->second, other->second))
                throw Error(fmt::format("{} and {} both name '{}'; type another file behind {}",
                                        other->first, one->first, one->second, one->first));
}

void check(const BenchOptions& options) {
    expect_a_file_each(options);
    if (!options.timeline_file.empty()) expect_one_launch(options, "--timeline");
    check_numerics(options);
    // Throws for unknown names too, before any rank starts.
    if (candidates(options.sweep.collective, options.search_space).empty() &&
        options.choosing.empty())
        throw Error("nobody takes part; type --algo all or --baseline all");
    const int per_node = options.sweep.ranks_per_node;
    const int per_island = options.sweep.ranks_per_island;
    if (per_node > 0 && per_island > per_node)
        throw Error(fmt::format(
            "islands of {} ranks do not fit into nodes of {}; type a smaller --ranks-per-island",
            per_island, per_node));
    if (options.fault && options.search_space.transports != std::vector<std::string>{"loopback"})
        throw Error("--fault needs the transport that can fail; add --transport loopback");
}

}  // namespace

std::optional<BenchOptions> parse_bench(Arguments arguments) {
    BenchOptions options;
    const std::string resume = take_resume("bench", arguments);
    options.run.command = "bench";
    options.run.arguments = arguments;
    SizeSweep range;
    std::string collective, output_file;
    CLI::App app{"Sweeps sizes over algorithms, transports and libraries, every result checked.",
                 "tutti bench"};
    app.add_option(
           "collective", collective,
           "all_reduce reduce_scatter all_gather broadcast reduce scatter gather all_to_all")
        ->required();
    add_sweep({app, "What to sweep"}, options, range);
    add_trials({app, "Who takes part"}, options);
    add_timing({app, "How it is timed"}, options);
    add_output({app, "Output"}, options, output_file);
    app.add_option("--turns", options.turns)->group("");  // what 'tutti compare' adds
    add_only_one({app, "Ranks"}, "-g,--ngpus", "only 1: a rank is a process");
    add_only_one({app, "Ranks"}, "-t,--nthreads", "only 1");
    if (parse_or_help(app, arguments)) return std::nullopt;

    options.named.read({app, ""});
    options.table_is_named = app.get_option("--table")->count() > 0;
    options.sweep.collective = parse_collective(collective);
    sort_output_file(output_file, options);
    auto& algorithms = options.search_space.algorithms;
    for (const char* name : {"auto", "learn"})
        if (std::erase(algorithms, name) > 0) options.choosing.emplace_back(name);
    if (algorithms.empty() && !options.choosing.empty()) algorithms = {"none"};
    if (options.sweep.counts.empty()) options.sweep.sizes = range.sizes();
    // Two jobs that measured them would find different ones, and have less time for what is
    // compared.
    if (!options.turns.empty() && options.run.limits == "stored") options.run.limits = "none";
    check(options);
    options.run.as_understood = understood(app);
    resume_if_asked(resume, options.run);
    return options;
}

}  // namespace tutti
