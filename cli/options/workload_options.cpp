// SPDX-License-Identifier: Apache-2.0
#include "cli/options/workload_options.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "cli/options/options.hpp"
#include "cli/options/shared_options.hpp"
#include "cli/options/typed_values.hpp"
#include "workloads/models/model_list.hpp"

namespace tutti {
namespace {

// As typed; one member per option, with its default.
struct Typed {
    std::string algorithms = "auto,ring,two-shot", transports = "all",
                baselines = "mpi,mpi-nonblocking", table_file = "tutti-table.json";
    std::string compress = "none", skew, slow_rank;
    std::string compute = "sleep", buffers, target_ci = "2%", max_time = "20s", limits = "stored",
                json_file;
    std::int64_t least_steps = 10, most_steps = 200, warm_up = 2;
    std::uint64_t seed = 1;
    bool table_anyway = false, raw = false;
    RankWords of_ranks;
};

void declare(CLI::App& app, const Workload& workload, Typed& typed,
             std::map<std::string, std::string>& settings) {
    const std::string own = "Of this workload", race = "Who takes part", times = "How it is timed",
                      output = "Output";
    const auto text = [&](auto&&... words) { add_text(app, words...); };
    for (const SettingRow& row : workload.settings) {
        std::string& value = settings[std::string(row.name)];
        value = row.default_value;
        // What a workload reads may be typed right after its name.
        const std::string names = row.name == "file" ? "file,--file" : "--" + std::string(row.name);
        text(names, value, std::string(row.what), own);
    }
    text("--algo", typed.algorithms,
         "algorithms, a list, all or none (see 'tutti list'); auto chooses by --table", race);
    text("--table", typed.table_file, "of 'tutti tune', for auto; without one, built-in rules",
         race);
    app.add_flag("--table-anyway", typed.table_anyway, "take a table of another topology")
        ->group(race);
    text("--transport", typed.transports, "transports, a list or all", race);
    text("--baseline", typed.baselines, "libraries' own collectives, a list, all or none", race);
    text("--compress", typed.compress,
         "each way also with its float all-reduces compressed: none, bf16, fp16, int8, topk:1% "
         "(of the largest, with error feedback), topk:1%:sampled, or a list",
         race);
    text("--buffers", typed.buffers,
         "registered (shared by the ranks of a host), unregistered, or where the workload leaves "
         "computing to accelerators pinned or device, as in 'tutti bench'; else registered where "
         "that is possible",
         race);
    text("--compute", typed.compute,
         "what stands for computing: sleep (an accelerator computes, the core is free), burn (the "
         "core is busy), real (it multiplies matrices)",
         times);
    text("--skew", typed.skew,
         "ranks begin each step up to so late (2ms), or compute up to a share longer (10%), by "
         "--seed",
         times);
    if (!settings.contains("slow-rank"))  // one that computes for real has its own
        text("--slow-rank", typed.slow_rank, "R:F: rank R computes F times as long, such as 1:3",
             times);
    app.add_option("--min-steps", typed.least_steps, "of each way, at least")
        ->group(times)
        ->check(CLI::Range(1, 1000000))
        ->capture_default_str();
    app.add_option("-n,--steps", typed.most_steps, "of each way, at most")
        ->group(times)
        ->check(CLI::Range(1, 1000000))
        ->capture_default_str();
    app.add_option("-w,--warm-up", typed.warm_up, "steps of each way that do not count")
        ->group(times)
        ->check(CLI::Range(0, 1000000))
        ->capture_default_str();
    text("--target-ci", typed.target_ci,
         "stop when the medians of a step and of what is exposed are known so well, over the step",
         times);
    text("--max-time", typed.max_time,
         "stop after so much time of all ways, but not before --min-steps", times);
    app.add_option("--limits", typed.limits,
                   "what plans are fitted to the machine by: stored, measure, none or FILE")
        ->group(times)
        ->envname("TUTTI_LIMITS")
        ->capture_default_str();
    app.add_option("--seed", typed.seed, "of the order of ways, of data and of skew")
        ->group(times)
        ->capture_default_str();
    typed.of_ranks.declare(app, times);
    text("--json", typed.json_file, "append records to this file (JSON Lines); folders are made",
         output);
    app.add_flag("--raw", typed.raw, "keep every round's times in the records")->group(output);
}

std::string list_of_workloads() {
    std::string text;
    for (const Workload& row : workloads()) text += fmt::format("  {:<18}{}\n", row.name, row.what);
    return text;
}

void print_models() {
    for (const ModelEntry& entry : model_list())
        fmt::print("{:<14}{:>16}  {}\n", entry.name, entry.total, entry.sentence);
}

StepProtocol protocol_of(const CLI::App& app, const Typed& typed) {
    if (typed.least_steps > typed.most_steps && app.count("--min-steps") > 0)
        throw Error(fmt::format("-n {} is less than --min-steps {}; type a larger -n",
                                typed.most_steps, typed.least_steps));
    return {.min_rounds = std::min(typed.least_steps, typed.most_steps),
            .max_rounds = typed.most_steps,
            .warm_up = typed.warm_up,
            .max_seconds = parse_seconds(typed.max_time),
            .target_ci = target_of(typed.target_ci),
            .seed = typed.seed,
            .keep_samples = typed.raw};
}

}  // namespace

std::optional<WorkloadOptions> parse_workload(const Arguments& arguments) {
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
                "Training steps with all ways of communicating alternating in one launch.\n"
                "usage: tutti workload NAME ...        (tutti workload NAME --help tells its "
                "options)\n       tutti workload --list-models\n\n{}",
                list_of_workloads());
        return std::nullopt;
    }
    WorkloadOptions options;
    options.workload = &find_workload(arguments.front());
    Typed typed;
    std::map<std::string, std::string> settings;
    CLI::App app{std::string(options.workload->what),
                 "tutti workload " + std::string(options.workload->name)};
    declare(app, *options.workload, typed, settings);
    if (parse_or_help(app, {arguments.begin() + 1, arguments.end()})) return std::nullopt;
    options.settings = Settings(options.workload->settings, settings);
    if (options.workload->check != nullptr) options.workload->check(options.settings);

    auto algorithms = split_list(typed.algorithms);
    options.chooses = std::erase(algorithms, "auto") > 0;
    if (algorithms.empty()) algorithms = {"none"};
    options.search_space.algorithms = algorithms;
    options.search_space.transports = split_list(typed.transports);
    options.search_space.baselines = split_list(typed.baselines);
    if (methods_named(options.search_space).empty() && !options.chooses)
        throw Error("nobody takes part; type --algo auto or --baseline mpi");
    options.table_file = typed.table_file;
    options.table_anyway = typed.table_anyway;
    options.table_must_be = app.count("--table") > 0;
    options.compute = parse_compute_mode(typed.compute);
    if (const auto kinds = buffer_kinds_of(typed.buffers); !kinds.empty()) {
        if (kinds.size() > 1)
            throw Error("--buffers takes one kind here; type registered or unregistered");
        options.buffers = kinds.front();
    }
    options.compressions = parse_compressions(typed.compress);
    if (!options.compressions.empty() && options.buffers == BufferKind::device)
        throw Error(
            "the host compresses, and has no buffers on devices; type --buffers registered or "
            "--compress none");
    if (!typed.skew.empty()) parse_skew(typed.skew, options.skew);
    if (!typed.slow_rank.empty()) parse_slow_rank(typed.slow_rank, options.skew);
    options.skew.seed = typed.seed;
    options.protocol = protocol_of(app, typed);
    options.ranks = typed.of_ranks.options(typed.json_file);
    options.pin = typed.of_ranks.pins();
    options.limits = typed.limits;
    options.json_file = typed.json_file;
    options.as_understood = understood(app);
    return options;
}

}  // namespace tutti
