// SPDX-License-Identifier: Apache-2.0
#include "cli/options/workload_options.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "cli/options/algorithm_files.hpp"
#include "cli/options/options.hpp"
#include "cli/options/values.hpp"
#include "workloads/models/model_list.hpp"

namespace tutti {
namespace {

void add_settings(const OptionGroup& group, const Workload& workload,
                  std::map<std::string, std::string>& settings) {
    for (const SettingRow& row : workload.settings) {
        std::string& value = settings[std::string(row.name)];
        value = row.default_value;
        // A workload's file may follow its name.
        const std::string names = row.name == "file" ? "file,--file" : "--" + std::string(row.name);
        group.text(names, value, std::string(row.what));
    }
}

std::optional<BufferKind> parse_kind(const std::string& text) {
    const auto kinds = parse_buffers(text);
    if (kinds.size() > 1)
        throw Error("--buffers takes one kind here; use registered or unregistered");
    return kinds.empty() ? std::nullopt : std::optional(kinds.front());
}

void add_methods(const OptionGroup& group, WorkloadOptions& options) {
    SearchSpace& space = options.search_space;
    group.parsed("--algo", space.algorithms, "auto,ring,two-shot", parse_algorithms,
                 "Algorithms, a list, all or none (see 'tutti list'); auto chooses by --table");
    group.text("--table", options.table_file,
               "Tuning table of 'tutti tune' for auto; without one, built-in rules");
    group.flag("--table-anyway", options.table_anyway,
               "Use the table even if it was measured on another topology");
    group.parsed("--transport", space.transports, "all", split_list, "Transports, a list or all");
    group.parsed("--baseline", space.baselines, "mpi,mpi-nonblocking", split_list,
                 "Libraries whose own collectives are measured, a list, all or none");
    options.named.add_option(group);
    group.parsed(
        "--compress", options.compressions, "none", parse_compressions,
        "Compression of float all-reduces, added as a variant of each method: none, bf16, fp16, "
        "int8, topk:1% (largest values, with error feedback), topk:1%:sampled, or a list");
    group.parsed("--buffers", options.buffers, "", parse_kind,
                 "Kind of memory: registered (shared by the ranks of a host), unregistered, "
                 "mapped, or, if the workload leaves computing to accelerators, pinned or device "
                 "(see 'tutti bench'). Default: registered where possible");
}

void add_timing(const OptionGroup& group, WorkloadOptions& options, bool has_own_slow_rank) {
    StepProtocol& protocol = options.protocol;
    Skew& skew = options.skew;
    group.parsed("--compute", options.compute, "sleep", parse_as<ComputeMode>,
                 "How computing is simulated: sleep (an accelerator computes, the core is free), "
                 "burn (the core is busy) or real (matrices are multiplied)");
    group.parsed(
        "--skew", skew, "", [&skew](const std::string& text) { return with_skew(skew, text); },
        "Skew: ranks begin each step up to this late (2ms), or compute up to this much longer "
        "(10%), by --seed");
    if (!has_own_slow_rank)
        group.parsed(
            "--slow-rank", skew, "",
            [&skew](const std::string& text) { return with_slow_rank(skew, text); },
            "Slow rank, R:F: rank R computes F times as long, such as 1:3");
    group
        .number("--min-steps", protocol.min_rounds, 1, 1'000'000,
                "Minimum number of steps per method")
        ->capture_default_str();
    group
        .number("-n,--steps", protocol.max_rounds, 1, 1'000'000,
                "Maximum number of steps per method")
        ->capture_default_str();
    group.number("-w,--warm-up", protocol.warm_up, 0, 1'000'000, "Warm-up steps per method")
        ->capture_default_str();
    group.parsed("--target-ci", protocol.target_ci, "2%", target_of("--target-ci"),
                 "Stop when the confidence intervals of the step time and its exposed part are "
                 "this narrow, relative to the step");
    group.parsed("--max-time", protocol.max_seconds, "20s", parse_seconds,
                 "Max time for all methods together; --min-steps are made in any case");
    add_limits(group, options.run, "Machine limits that plans are adapted to");
    group.seed(protocol.seed, "Seed for the order of methods, data and skew");
    add_rank_options(group, options.run);
    add_launches({group.app(), "Ranks"}, options.run);
}

std::string list_of_workloads() {
    std::string text;
    for (const Workload& row : workloads()) text += fmt::format("  {:<18}{}\n", row.name, row.what);
    return fitted_to_page(text, 20);
}

void print_models() {
    for (const ModelEntry& entry : model_list())
        fmt::print("{:<14}{:>16}  {}\n", entry.name, entry.total, entry.description);
}

void complete(const CLI::App& app, WorkloadOptions& options) {
    SearchSpace& space = options.search_space;
    options.chooses = std::erase(space.algorithms, "auto") > 0;
    if (space.algorithms.empty()) space.algorithms = {"none"};
    if (methods_named(space).empty() && !options.chooses)
        throw Error("no candidates selected; use --algo auto or --baseline mpi");
    options.table_must_be = app.count("--table") > 0;
    if (!options.compressions.empty() && options.buffers == BufferKind::device)
        throw Error(
            "--compress cannot be used with buffers on devices: the host compresses; use --buffers "
            "registered or --compress none");
    StepProtocol& protocol = options.protocol;
    if (protocol.min_rounds > protocol.max_rounds && app.count("--min-steps") > 0)
        throw Error(fmt::format("-n {} is less than --min-steps {}; use a larger -n",
                                protocol.max_rounds, protocol.min_rounds));
    protocol.min_rounds = std::min(protocol.min_rounds, protocol.max_rounds);
    options.skew.seed = protocol.seed;
}

// The options of a workload and the variables that they set.
struct WorkloadCommand {
    WorkloadOptions options;
    std::map<std::string, std::string> settings;
    CLI::App app;

    explicit WorkloadCommand(const Workload& workload)
        : app{std::string(workload.what), "tutti workload " + std::string(workload.name)} {
        options.workload = &workload;
        add_settings({app, "Workload"}, workload, settings);
        add_methods({app, "Candidates"}, options);
        // A workload that really computes has its own option for slow ranks.
        add_timing({app, "Timing"}, options, settings.contains("slow-rank"));
        const OptionGroup output(app, "Output");
        add_results_file(output, options.run);
        output.flag("--raw", options.protocol.keep_samples,
                    "Store every round's times in the records");
    }

    /// Returns true if help was printed.
    bool parse(const Arguments& arguments) {
        return parse_or_help(app, {arguments.begin() + 1, arguments.end()});
    }
    RunPlan plan(const Arguments& arguments) const {
        RunPlan plan = plan_of("workload", app, arguments);
        plan.given.insert(plan.given.begin(), {.name = "workload",
                                               .values = {arguments.front()},
                                               .kind = GivenOption::Kind::positional});
        return plan;
    }
};

void print_help() {
    fmt::print(
        "Runs training steps of a workload; all communication methods alternate in one "
        "launch.\nusage: tutti workload NAME ...        (tutti workload NAME --help lists "
        "its options)\n       tutti workload --list-models\n\n{}",
        list_of_workloads());
}

// Reads arguments without the name of a workload. Returns those of an interrupted run, if --resume
// is given, or nothing if help or the models were printed.
std::optional<Arguments> arguments_without_name(const Arguments& arguments) {
    CLI::App app{"", "tutti workload"};
    bool lists_models = false, are_all_known = true;
    RunOptions run;
    const OptionGroup options(app, "Options");
    options.flag("--list-models", lists_models, "List the models of the workloads");
    add_results_file(options, run);
    try {
        app.parse(Arguments(arguments.rbegin(), arguments.rend()));
    } catch (const CLI::CallForHelp&) {
        if (launcher().rank == 0) print_help();
        return std::nullopt;
    } catch (const CLI::ParseError&) {  // the options need the name of their workload
        are_all_known = false;
    }
    if (lists_models) {
        if (launcher().rank == 0) print_models();
        return std::nullopt;
    }
    const RunPlan plan = plan_of("workload", app, arguments);
    if (!are_all_known || !resumes_alone(plan))
        throw Error(
            "no workload given; use for example: tutti workload ddp; see 'tutti workload --help'");
    return plan_to_resume(
               plan, run.resume,
               [](const Arguments& words) {
                   WorkloadCommand interrupted(find_workload(words.empty() ? "" : words.front()));
                   interrupted.parse(words);
                   return interrupted.plan(words);
               })
        .arguments();
}

}  // namespace

std::optional<WorkloadOptions> parse_workload(const Arguments& arguments) {
    if (completes_first_of(workloads(), arguments)) return std::nullopt;
    if (arguments.empty() || arguments.front().starts_with("-")) {
        const auto resumed = arguments_without_name(arguments);
        return resumed ? parse_workload(*resumed) : std::nullopt;
    }
    WorkloadCommand command(find_workload(arguments.front()));
    if (command.parse(arguments)) return std::nullopt;
    WorkloadOptions& options = command.options;
    set_plan(options.run, command.plan(arguments));
    options.named.read({command.app, ""});
    const Workload& workload = *options.workload;
    options.settings = Settings(workload.settings, command.settings);
    if (workload.check != nullptr) workload.check(options.settings);
    complete(command.app, options);
    resume_if_asked(options.run);
    return std::move(options);
}

}  // namespace tutti
