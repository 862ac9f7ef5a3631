// SPDX-License-Identifier: Apache-2.0
#include "cli/options/bench_options.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <utility>

#include "base/collective_form.hpp"
#include "cli/options/algorithm_files.hpp"
#include "cli/options/options.hpp"
#include "cli/options/values.hpp"
#include "workloads/numerics/sum_examiner.hpp"
#include "workloads/traces/count_matrices.hpp"

namespace tutti {
namespace {

// Parses --order-by. Drops repeated names.
std::vector<std::string> parse_orders(const std::string& text) {
    std::vector<std::string> orders;
    for (const auto& name : split_list(text))
        if (std::ranges::find(orders, name) == orders.end()) orders.push_back(name);
    if (orders.empty()) throw Error("--order-by is empty; use naive, topology or a file");
    return orders;
}

std::vector<BlockRule> parse_block_rules(const std::string& text) {
    std::vector<BlockRule> rules;
    for (const auto& name : split_list(text)) rules.push_back(parse_block_rule(name));
    return rules;
}

std::string names_of(const auto& values) {
    std::vector<std::string_view> names;
    for (const auto value : values) names.push_back(name_of(value));
    return fmt::format("{}", fmt::join(names, " "));
}

void add_sweep(const OptionGroup& group, BenchOptions& options, SizeSweep& range) {
    Sweep& sweep = options.sweep;
    group.parsed("-b,--minbytes", range.first, "8", parse_bytes,
                 "Smallest size (K, M, G = 1024), counted as by nccl-tests");
    group.parsed("-e,--maxbytes", range.last, "16M", parse_bytes, "Largest size (K, M, G = 1024)");
    group
        .parsed("-f,--stepfactor", range.factor, "4", parse_factor,
                "Factor from one size to the next")
        ->type_name("FLOAT");
    group.parsed("-i,--stepbytes", range.step, "", parse_step,
                 "Step in bytes from one size to the next, instead of a factor");
    group.parsed("--counts", sweep.counts, "", parse_counts,
                 "Element counts instead of sizes: 0,1,1000");
    group.parsed("--blocks", sweep.blocks, "", parse_block_rules,
                 "Rules for the lengths of blocks in a collective with _v, a list: " +
                     names_of_block_rules() + " (default: uniform, which are equal lengths)");
    group.text("--counts-from", options.counts_file,
               "File with the element counts of the blocks of a collective with _v: a matrix (row: "
               "sender) for all_to_all_v, else a line; scaled to each size of -b, -e or --counts, "
               "used as they are without these");
    group.parsed("-d,--datatype", sweep.types, "float", list_of(all_data_types(), parse_data_type),
                 "Element types, a list or all: " + names_of(all_data_types()));
    group.parsed("-o,--op", sweep.ops, "sum", list_of(all_ops(), parse_op),
                 "Reduction operations, a list or all: " + names_of(all_ops()));
    group.parsed("-r,--root", options.root, "0", parse_root, "Root rank, or all");
    group.parsed("--inplace", sweep.in_place, "both",
                 one_of<std::vector<bool>>(
                     "--inplace", {{"no", {false}}, {"yes", {true}}, {"both", {false, true}}}),
                 "Output in the input's buffer: no, yes or both");
    group.parsed("--buffers", sweep.buffers, "", parse_buffers,
                 "Kinds of memory, one or a list: registered (shared by the ranks of a host), "
                 "unregistered (or host), mapped (in the heap of libtutti_heap.so, which peers "
                 "map), pinned (unregistered, copied by a GPU), device (GPU memory). Default: "
                 "registered where possible, device if only GPU plans are candidates");
    group.parsed("--input", sweep.input, "untouched",
                 one_of<InputState>("--input", {{"untouched", InputState::untouched},
                                                {"rewritten", InputState::rewritten}}),
                 "Input between calls: untouched, or rewritten: each rank refills its input before "
                 "every call (not timed)");
}

void add_trials(const OptionGroup& group, BenchOptions& options) {
    SearchSpace& space = options.search_space;
    group.parsed(
        "--algo", space.algorithms, "all", parse_algorithms,
        "Algorithms, a list, all or none (see 'tutti list'); all+ adds those by name; auto "
        "chooses by --table or by built-in rules, learn measures while the calls run; a FILE of "
        "MSCCL, MSCCL++, SCCL or TACCL runs its schedule");
    group.text("--table", options.table_file,
               "Tuning table of 'tutti tune' for auto; learn starts from it and updates it");
    group.flag("--table-anyway", options.table_anyway,
               "Use the table even if it was measured on another topology");
    group.parsed("--learn-bound", options.learning_bound, "5%", target_of("--learn-bound"),
                 "Max fraction of time 'learn' may spend exploring");
    group.parsed("--transport", space.transports, "all", split_list, "Transports, a list or all");
    group.parsed("--baseline", space.baselines, "all", split_list,
                 "Libraries whose own collectives are measured, a list, all or none; mpi/ring "
                 "forces one algorithm of the library, mpi/all tries every one");
    group.text("--other-nccl", options.other_nccl,
               "Another libnccl.so.2, measured as baseline nccl-other in the same launch");
    options.named.add_option(group);
    group.parsed(
        "--stream-from", options.stream_from, "", parse_bytes,
        "Use non-temporal stores when the total buffer size reaches BYTES (default: measured)");
    for (const Knob& knob : knobs)
        group.parsed("--" + std::string(knob.name), space.knobs[knob.name], knob.default_text(),
                     values_of(knob), knob.help);
    group.number("--ranks-per-node", options.sweep.ranks_per_node, 1, 1 << 20,
                 "Ranks per node for hierarchical algorithms (default: by host)");
    group.number("--ranks-per-island", options.sweep.ranks_per_island, 1, 1 << 20,
                 "Ranks per island within a node for three-level (default: by NUMA node)");
    group.parsed("--order-by", space.orders, "naive", parse_orders,
                 "Rank order: naive (launcher order), topology (neighbours close together), FILE "
                 "(one line of ranks per channel), or a list");
    group.parsed("--fault", options.fault, "", parse_fault,
                 "Inject a fault into loopback (cuda-emulated: stop only): drop delay double "
                 "corrupt stop[:from=R,to=R,step=S,nth=K]");
}

void add_timing(const OptionGroup& group, BenchOptions& options) {
    Sweep& sweep = options.sweep;
    Protocol& protocol = sweep.protocol;
    group
        .number("-G,--cudagraph", options.runs_on_devices, 1, 10'000,
                "Calls per device launch (CUDA graph on GPUs); reported times are per call")
        ->type_name("INT");
    group.number("-n,--iters", protocol.fixed_samples, 1, 1'000'000'000,
                 "Number of timed calls (default: until --target-ci)");
    group
        .number("-w,--warmup_iters", protocol.warm_up_calls, 0, 1'000'000'000,
                "Minimum number of warm-up calls")
        ->capture_default_str();
    group.parsed("--target-ci", protocol.target_ci, "2.5%", target_of("--target-ci"),
                 "Stop when the median's confidence interval is this narrow");
    group.parsed("--max-time", protocol.max_seconds, "0.2s", parse_seconds, "Max time per row");
    group.parsed("--batch-time", protocol.batch_seconds, "1ms", parse_seconds,
                 "Time per candidate before switching to the next (>= 5ms for energy)");
    group.parsed("--budget", sweep.budget_seconds, "", budget_of("--budget"),
                 "Approximate time for the whole sweep; shortens --max-time");
    group.parsed("--sync", protocol.sync, "auto", parse_sync,
                 "Start of a call: deadline, barrier, row (many calls after one barrier) or auto");
    group
        .list("--aggressor", options.aggressors,
              "Program next to the ranks on each host: every candidate is also measured while it "
              "runs; memory[:THREADS], cpu[:THREADS], network, or a shell command; may be repeated")
        ->expected(1)
        ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
    group.parsed("--order", protocol.shuffle, "random",
                 one_of<bool>("--order", {{"random", true}, {"given", false}}),
                 "Candidate order: random or given");
    group.seed(protocol.seed, "Seed for candidate order and check data");
    add_limits(group, options.run, "Machine limits to compare with");
    group
        .text("--model", options.model,
              "Cost model for predicted times: stored (of --table, else of the last 'tutti tune'), "
              "none or FILE")
        ->envname("TUTTI_MODEL");
    const auto set_check = [&sweep](const int& typed) { sweep.check = typed != 0; };
    group.app()
        .add_option_function<int>("-c,--check", set_check, "Check of the results: 1 or 0")
        ->group(group.heading())
        ->check(CLI::Range(0, 1'000'000))
        ->default_str("1");
    add_rank_options(group, options.run);
    add_launches({group.app(), "Ranks"}, options.run);
}

void add_output(const OptionGroup& group, BenchOptions& options, std::string& output_file) {
    add_results_file(group, options.run);
    group.text("--csv", options.csv_file, "CSV file for spreadsheets");
    group.text(
        "-J,--output_file", output_file,
        "Output file: FILE.csv or FILE.jsonl; with --like nccl-tests also FILE.json in its format");
    group.text(
        "--like", options.like,
        "Output format: tutti, nccl-tests (one row per size, of the fastest candidate) or osu");
    group.flag("--raw", options.keep_samples, "Store every sample in the records");
    group.text("--timeline", options.timeline_file,
               "Trace file for Perfetto: one call of each row with every rank's steps and waits");
    group.flag(
        "--numerics", options.numerics,
        "Report numerical accuracy: max ULP error, same result on all ranks and across runs");
    group.flag("--all-rows", options.all_rows,
               "Print the rows of all candidates, however many there are");
}

// Adds an option of nccl-tests that accepts only 1: a rank here has one GPU and one thread.
void add_only_one(const OptionGroup& group, const std::string& names, const std::string& what) {
    group.app()
        .add_option_function<int>(
            names, [](const int&) {}, what)
        ->group(group.heading())
        ->check(CLI::Range(1, 1));
}

// Sorts the file of -J by its extension, as nccl-tests does.
void sort_output_file(const std::string& output_file, BenchOptions& options) {
    if (output_file.empty()) return;
    const std::string ending = std::filesystem::path(output_file).extension();
    if (ending == ".json" && options.like != "tutti") {
        options.output_file = output_file;
        return;
    }
    const bool is_table = ending == ".csv";
    if (!is_table && ending != ".json" && ending != ".jsonl")
        throw Error("-J " + output_file +
                    ": unknown file extension; use -J FILE.jsonl or -J FILE.csv");
    auto& goal = is_table ? options.csv_file : options.run.ranks.results_file;
    if (!goal.empty())
        throw Error("-J " + output_file + " and " + goal +
                    " name two files for the same output; use only one of them");
    goal = output_file;
}

// Refuses an option that needs all ranks in this launch, as launches and comparisons run elsewhere.
void expect_one_launch(const BenchOptions& options, const char* asked) {
    if (options.run.starts_launches() || !options.turns.empty())
        throw Error(
            fmt::format("{} works only for a single launch; it cannot be combined with --launches, "
                        "--launcher or 'tutti compare'",
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

// Compares two paths. A device such as /dev/null may be named more than once.
bool is_one_file(const std::string& a, const std::string& b) {
    namespace fs = std::filesystem;
    std::error_code none;
    if (fs::exists(a, none)) return fs::is_regular_file(a, none) && fs::equivalent(a, b, none);
    const fs::path whole = fs::weakly_canonical(fs::absolute(a), none);
    return !whole.empty() && whole == fs::weakly_canonical(fs::absolute(b), none);
}

// Refuses two outputs to the same file, as one would overwrite the other.
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
                throw Error(fmt::format("{} and {} both name '{}'; use another file for {}",
                                        other->first, one->first, one->second, one->first));
}

// An aggressor takes a core for some milliseconds at a time. So a sample is the mean of calls over
// several such times: the median of short ones would show none of them, and calls that start at
// deadlines would be dropped if they are late.
void set_aggressors(BenchOptions& options) {
    if (options.aggressors.empty()) return;
    if (!options.turns.empty())
        throw Error("--aggressor cannot be used in 'tutti compare'; use 'tutti bench'");
    std::vector<std::string> names = options.aggressors;
    std::ranges::sort(names);
    if (const auto twice = std::ranges::adjacent_find(names); twice != names.end())
        throw Error(fmt::format("--aggressor '{}' is given twice; use each one once", *twice));
    Protocol& protocol = options.sweep.protocol;
    protocol.sample_ns = 20'000'000;
    protocol.batch_seconds = std::max(protocol.batch_seconds, 0.02);
    if (protocol.sync == Protocol::Sync::automatic) protocol.sync = Protocol::Sync::back_to_back;
}

void check(const BenchOptions& options) {
    expect_a_file_each(options);
    if (!options.timeline_file.empty()) expect_one_launch(options, "--timeline");
    check_numerics(options);
    // Also throws for unknown names, before any rank starts.
    if (candidates(options.sweep.collective, options.search_space).empty() &&
        options.choosing.empty())
        throw Error("no candidates selected; use --algo all or --baseline all");
    const int per_node = options.sweep.ranks_per_node;
    const int per_island = options.sweep.ranks_per_island;
    if (per_node > 0 && per_island > per_node)
        throw Error(
            fmt::format("--ranks-per-island {} is larger than --ranks-per-node {}; use a smaller "
                        "--ranks-per-island",
                        per_island, per_node));
    if (options.fault && options.search_space.transports != std::vector<std::string>{"loopback"})
        throw Error("--fault works only with the loopback transport; use --transport loopback");
}

// The option alone selects the baseline, too.
void set_other_nccl(BenchOptions& options) {
    constexpr const char* name = "nccl-other";
    auto& baselines = options.search_space.baselines;
    const bool is_selected = std::ranges::any_of(
        baselines, [&](const std::string& one) { return one.starts_with(name); });
    if (is_selected == !options.other_nccl.empty()) return;
    if (is_selected)
        throw Error("--baseline nccl-other needs the library; use --other-nccl FILE, too");
    std::erase(baselines, "none");
    baselines.emplace_back(name);
}

constexpr const char* size_options[] = {"-b", "-e", "-f", "-i"};

// Sets the rules for the lengths of blocks. Reads the file of counts.
void set_blocks(const CollectiveForm& form, const CLI::App& app, BenchOptions& options) {
    for (const char* option : {"--blocks", "--counts-from"})
        if (app.count(option) > 0 && !form.has_lengths)
            throw Error(fmt::format(
                "{} needs a collective whose blocks have lengths of their own{}", option,
                has_blocks(form.collective)
                    ? fmt::format("; use {}", name_of(CollectiveForm{form.collective, true}))
                    : ", such as all_to_all_v"));
    std::vector<BlockRule>& rules = options.sweep.blocks;
    if (!options.counts_file.empty()) {
        const CountMatrices counts = read_count_matrices(options.counts_file, "--counts-from");
        for (std::size_t i = 0; i < counts.matrices.size(); ++i)
            rules.push_back({.shape = BlockRule::Shape::given,
                             .counts = counts.matrices[i],
                             .name = counts.matrices.size() == 1
                                         ? counts.name
                                         : fmt::format("{}:{}", counts.name, i + 1)});
    }
    if (form.has_lengths && rules.empty()) rules.emplace_back();
}

// The options of the command line and the variables that they set.
struct BenchCommand {
    BenchOptions options;
    SizeSweep range;
    std::string collective, output_file;
    CLI::App app{
        "Sweeps message sizes over algorithms, transports and libraries, and checks every result.",
        "tutti bench"};

    BenchCommand() {
        std::vector<std::string> names;
        for (const CollectiveForm& one : all_collective_forms()) names.push_back(name_of(one));
        app.add_option("collective", collective, fmt::format("{}", fmt::join(names, " ")))
            ->required();
        add_sweep({app, "Sweep"}, options, range);
        add_trials({app, "Candidates"}, options);
        add_timing({app, "Timing"}, options);
        add_output({app, "Output"}, options, output_file);
        app.add_option("--turns", options.turns)->group("");  // added by 'tutti compare'
        add_only_one({app, "Ranks"}, "-g,--ngpus",
                     "GPUs per process: only 1, as each rank is a process");
        add_only_one({app, "Ranks"}, "-t,--nthreads", "Threads per process: only 1");
    }
};

}  // namespace

std::optional<BenchOptions> parse_bench(const Arguments& arguments) {
    BenchCommand command;
    auto& [options, range, collective, output_file, app] = command;
    if (parse_or_help(app, arguments)) return std::nullopt;
    RunPlan plan = plan_of("bench", app, arguments);
    if (resumes_alone(plan))
        return parse_bench(plan_to_resume(plan, options.run.resume, [](const Arguments& words) {
                               BenchCommand interrupted;
                               parse_or_help(interrupted.app, words);
                               return plan_of("bench", interrupted.app, words);
                           }).arguments());
    if (app.count("collective") == 0)  // parse_or_help() allows that next to --resume
        throw Error("collective is required; see 'tutti bench --help'");
    set_plan(options.run, std::move(plan));

    refuse_together(app, "-i", {"-f"});
    refuse_together(app, "--counts", {"-b", "-e", "-f", "-i"});
    refuse_together(app, "--counts-from", {"--blocks"});
    refuse_together(app, "-n", {"--target-ci", "--max-time", "--budget"});
    options.named.read({app, ""});
    options.table_is_named = app.get_option("--table")->count() > 0;
    const CollectiveForm form = parse_collective_form(collective);
    options.sweep.collective = form.collective;
    if (!has_buffers(form.collective)) options.sweep.in_place = {false};
    set_blocks(form, app, options);
    if (options.run.resume.empty()) sort_output_file(output_file, options);
    auto& algorithms = options.search_space.algorithms;
    for (const char* name : {"auto", "learn"})
        if (std::erase(algorithms, name) > 0) options.choosing.emplace_back(name);
    if (algorithms.empty() && !options.choosing.empty()) algorithms = {"none"};
    const auto chooses = [&](const char* name) {
        return std::ranges::find(options.choosing, name) != options.choosing.end();
    };
    if (app.count("--learn-bound") > 0 && !chooses("learn"))
        throw Error("--learn-bound works only with the candidate learn; use --algo learn");
    if (options.table_anyway && options.choosing.empty())
        throw Error(
            "--table-anyway works only with the candidates auto and learn; use --algo auto");
    const bool has_sizes =
        std::ranges::any_of(size_options, [&](const char* name) { return app.count(name) > 0; });
    if (options.sweep.counts.empty() && (options.counts_file.empty() || has_sizes))
        options.sweep.sizes = range.sizes();
    // Skips the measurement of limits in a comparison: both jobs would measure different ones, and
    // have less time for what is compared.
    if (!options.turns.empty() && options.run.limits == "stored") options.run.limits = "none";
    set_aggressors(options);
    set_other_nccl(options);
    check(options);
    resume_if_asked(options.run);
    return std::move(options);
}

}  // namespace tutti
