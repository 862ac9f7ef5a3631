// SPDX-License-Identifier: Apache-2.0
#include "cli/options/run_options.hpp"

#include "base/source.hpp"
#include "cli/options/options.hpp"
#include "cli/options/values.hpp"

namespace tutti {
namespace {

int required_number(const CLI::Option* option, const std::string& text) {
    if (option->count() == 0)
        throw Error("--rendezvous requires " + option->get_name() +
                    "; use --rank R --size N, or --rendezvous auto under torchrun or srun");
    const auto number = number_in<int>(text);
    if (!number) throw Error(option->get_name() + " " + text + " is not a number");
    return *number;
}

}  // namespace

Arguments take_rank(const Arguments& arguments) {
    if (asks_for_completion(arguments)) return arguments;
    const auto [own, other] = split_at_dashes(arguments);
    CLI::App app;
    app.set_help_flag();
    app.allow_extras();
    std::string address, rank_text, size_text;
    const CLI::Option* rendezvous = app.add_option("--rendezvous", address);
    const CLI::Option* rank = app.add_option("--rank", rank_text);
    const CLI::Option* size = app.add_option("--size", size_text);
    try {
        app.parse(Arguments(own.rbegin(), own.rend()));
    } catch (const CLI::ParseError& error) {
        throw Error(error.what());
    }
    if (rendezvous->count() == 0) return arguments;  // the command refuses --rank and --size
    if (address == "auto") {
        if (rank->count() + size->count() > 0)
            throw Error(
                "--rank and --size cannot be used with --rendezvous auto, which reads them from "
                "torchrun or srun");
        join_rendezvous(rendezvous_from_environment());
    } else {
        join_rendezvous({.address = address,
                         .rank = required_number(rank, rank_text),
                         .size = required_number(size, size_text)});
    }
    Arguments others = app.remaining();
    if (other) {
        others.emplace_back("--");
        others.insert(others.end(), other->begin(), other->end());
    }
    return others;
}

void add_timeout(const OptionGroup& group, RankOptions& ranks) {
    group.parsed("-T,--timeout,--hang-timeout", ranks.hang_timeout, "30s", timeout_of("-T"),
                 "Time after which an unresponsive rank counts as failed");
    const auto set = [&ranks](const std::string& typed) {
        ranks.start_timeout = parse_timeout("--start-timeout", typed);
    };
    group.app()
        .add_option_function<std::string>("--start-timeout", set,
                                          "Time limit for the start of MPI [30s, or -T if longer]")
        ->group(group.heading());
}

void add_threads(const OptionGroup& group, RankOptions& ranks, const std::string& what) {
    const auto set = [&ranks](const int& threads) { ranks.threads = threads; };
    group.app()
        .add_option_function<int>("--ranks", set, what)
        ->group(group.heading())
        ->check(CLI::Range(1, 1024));
}

void add_rendezvous(const OptionGroup& group) {
    const auto add = [&group](const char* name, const char* type, const char* what) {
        const auto ignore = [](const std::string&) {
            throw Error("--rank and --size need --rendezvous tcp://HOST:PORT");
        };
        group.app()
            .add_option_function<std::string>(name, ignore, what)
            ->group(group.heading())
            ->type_name(type);
    };
    add("--rendezvous", "tcp://HOST:PORT",
        "Bootstrap address tcp://HOST:PORT of rank 0, or auto (torchrun/srun environment)");
    add("--rank", "R", "Rank of this process with --rendezvous, from 0");
    add("--size", "N", "Number of ranks with --rendezvous");
}

void add_rank_options(const OptionGroup& group, RunOptions& run) {
    group.parsed("--pin", run.pin, "auto", one_of<bool>("--pin", {{"auto", true}, {"no", false}}),
                 "Bind ranks to cores: auto (only if the launcher did not) or no");
    add_timeout(group, run.ranks);
    const OptionGroup ranks(group.app(), "Ranks");
    add_threads(ranks, run.ranks, "Run N ranks as threads (no mpirun)");
    add_rendezvous(ranks);
}

void add_limits(const OptionGroup& group, RunOptions& run, const std::string& what) {
    run.limits = "stored";
    group.text("--limits", run.limits, what + ": stored, measure, none or FILE")
        ->envname("TUTTI_LIMITS");
}

void add_launches(const OptionGroup& group, RunOptions& run) {
    group.number("--launches", run.launches, 1, 10'000,
                 "Number of launches; confidence intervals are computed across launches");
    group.text("--launcher", run.launcher,
               "Command that starts the ranks of each launch, such as 'mpirun -n 2'");
}

void add_results_file(const OptionGroup& group, RunOptions& run) {
    group.text("--json", run.ranks.results_file,
               "Results file (JSON Lines); records are appended, folders are created");
    group
        .parsed(
            "--resume", run.resume, "", [](const std::string& file) { return file; },
            "Resume the interrupted run of this results file; without other options, with its "
            "options")
        ->type_name("FILE");
}

void set_plan(RunOptions& run, RunPlan plan) {
    run.plan = std::move(plan);
    if (run.resume.empty()) return;
    run.ranks.results_file = run.resume;
    write_to_resumed_file(run.plan, run.resume);
}

void resume_if_asked(RunOptions& run, std::span<const std::string_view> free) {
    if (run.resume.empty()) return;
    run.resumed = interrupted_run(run.resume, run.plan.command);
    expect_same_plan(run.resumed->session.plan, run.plan.values, free);
    if (launcher().rank == 0) return;
    run.resumed->points.clear();
    run.resumed->steps.clear();
}

}  // namespace tutti
