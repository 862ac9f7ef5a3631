// SPDX-License-Identifier: Apache-2.0
#include "cli/options/workload_options.hpp"

#include <fmt/format.h>

#include <algorithm>

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
        // What a workload reads may be typed right after its name.
        const std::string names = row.name == "file" ? "file,--file" : "--" + std::string(row.name);
        group.text(names, value, std::string(row.what));
    }
}

std::optional<BufferKind> parse_kind(const std::string& text) {
    const auto kinds = parse_buffers(text);
    if (kinds.size() > 1)
        throw Error("--buffers takes one kind here; type registered or unregistered");
    return kinds.empty() ? std::nullopt : std::optional(kinds.front());
}

void add_methods(const OptionGroup& group, WorkloadOptions& options) {
    SearchSpace& space = options.search_space;
    group.parsed("--algo", space.algorithms, "auto,ring,two-shot", split_list,
                 "algorithms, a list, all or none (see 'tutti list'); auto chooses by --table");
    group.text("--table", options.table_file,
               "of 'tutti tune', for auto; without one, built-in rules");
    group.flag("--table-anyway", options.table_anyway, "take a table of another topology");
    group.parsed("--transport", space.transports, "all", split_list, "transports, a list or all");
    group.parsed("--baseline", space.baselines, "mpi,mpi-nonblocking", split_list,
                 "libraries' own collectives, a list, all or none");
    options.named.add_option(group);
    group.parsed(
        "--compress", options.compressions, "none", parse_compressions,
        "each method also with its float all-reduces compressed: none, bf16, fp16, int8, topk:1% "
        "(of the largest, with error feedback), topk:1%:sampled, or a list");
    group.parsed(
        "--buffers", options.buffers, "", parse_kind,
        "registered (shared by the ranks of a host), unregistered, mapped, or where the workload "
        "leaves "
        "computing to accelerators pinned or device, as in 'tutti bench'; else registered where "
        "that is possible");
}

void add_timing(const OptionGroup& group, WorkloadOptions& options, bool has_own_slow_rank) {
    StepProtocol& protocol = options.protocol;
    Skew& skew = options.skew;
    group.parsed("--compute", options.compute, "sleep", parse_as<ComputeMode>,
                 "what stands for computing: sleep (an accelerator computes, the core is free), "
                 "burn (the core is busy), real (it multiplies matrices)");
    group.parsed(
        "--skew", skew, "", [&skew](const std::string& text) { return with_skew(skew, text); },
        "ranks begin each step up to so late (2ms), or compute up to a share longer "
        "(10%), by --seed");
    if (!has_own_slow_rank)
        group.parsed(
            "--slow-rank", skew, "",
            [&skew](const std::string& text) { return with_slow_rank(skew, text); },
            "R:F: rank R computes F times as long, such as 1:3");
    group.number("--min-steps", protocol.min_rounds, 1, 1'000'000, "of each method, at least")
        ->capture_default_str();
    group.number("-n,--steps", protocol.max_rounds, 1, 1'000'000, "of each method, at most")
        ->capture_default_str();
    group
        .number("-w,--warm-up", protocol.warm_up, 0, 1'000'000,
                "steps of each method that do not count")
        ->capture_default_str();
    group.parsed("--target-ci", protocol.target_ci, "2%", parse_target,
                 "stop when the medians of a step and of what is exposed are known so well, over "
                 "the step");
    group.parsed("--max-time", protocol.max_seconds, "20s", parse_seconds,
                 "stop after so much time of all methods, but not before --min-steps");
    add_limits(group, options.run, "what plans are fitted to the machine by");
    group.seed(protocol.seed, "of the order of methods, of data and of skew");
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
        throw Error("nobody takes part; type --algo auto or --baseline mpi");
    options.table_must_be = app.count("--table") > 0;
    if (!options.compressions.empty() && options.buffers == BufferKind::device)
        throw Error(
            "the host compresses, and has no buffers on devices; type --buffers registered or "
            "--compress none");
    StepProtocol& protocol = options.protocol;
    if (protocol.min_rounds > protocol.max_rounds && app.count("--min-steps") > 0)
        throw Error(fmt::format("-n {} is less than --min-steps {}; type a larger -n",
                                protocol.max_rounds, protocol.min_rounds));
    protocol.min_rounds = std::min(protocol.min_rounds, protocol.max_rounds);
    options.skew.seed = protocol.seed;
    options.run.as_understood = understood(app);
}

}  // namespace

std::optional<WorkloadOptions> parse_workload(Arguments arguments) {
    if (completes_first_of(workloads(), arguments)) return std::nullopt;
    const std::string resume = take_resume("workload", arguments);
    if (!arguments.empty() && arguments.front() == "--list-models") {
        if (launcher().rank == 0) print_models();
        return std::nullopt;
    }
    if (arguments.empty() || arguments.front().starts_with("-")) {
        const bool asks =
            !arguments.empty() && (arguments.front() == "--help" || arguments.front() == "-h");
        if (!asks)
            throw Error(
                "which workload? type for example: tutti workload ddp; see 'tutti workload "
                "--help'");
        if (launcher().rank == 0)
            fmt::print(
                "Training steps with all methods of communicating alternating in one launch.\n"
                "usage: tutti workload NAME ...        (tutti workload NAME --help lists its "
                "options)\n       tutti workload --list-models\n\n{}",
                list_of_workloads());
        return std::nullopt;
    }
    WorkloadOptions options;
    const Workload& workload = find_workload(arguments.front());
    options.workload = &workload;
    options.run.command = "workload";
    options.run.arguments = arguments;
    std::map<std::string, std::string> settings;
    CLI::App app{std::string(workload.what), "tutti workload " + std::string(workload.name)};
    add_settings({app, "Of this workload"}, workload, settings);
    add_methods({app, "Who takes part"}, options);
    // One that computes for real has ranks that are slow for real.
    add_timing({app, "How it is timed"}, options, settings.contains("slow-rank"));
    const OptionGroup output(app, "Output");
    add_results_file(output, options.run);
    output.flag("--raw", options.protocol.keep_samples, "keep every round's times in the records");
    if (parse_or_help(app, {arguments.begin() + 1, arguments.end()})) return std::nullopt;

    options.named.read({app, ""});
    options.settings = Settings(workload.settings, settings);
    if (workload.check != nullptr) workload.check(options.settings);
    complete(app, options);
    resume_if_asked(resume, options.run);
    return options;
}

}  // namespace tutti
