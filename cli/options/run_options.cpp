// SPDX-License-Identifier: Apache-2.0
#include "cli/options/run_options.hpp"

#include "cli/options/options.hpp"
#include "cli/options/values.hpp"

namespace tutti {

void add_timeout(const OptionGroup& group, RankOptions& ranks) {
    group.parsed("-T,--timeout,--hang-timeout", ranks.hang_timeout, "30s", parse_timeout,
                 "give up on a rank after");
    const auto set = [&ranks](const std::string& typed) {
        ranks.start_timeout = parse_timeout(typed);
    };
    group.app()
        .add_option_function<std::string>(
            "--start-timeout", set, "give up on the start of MPI after [30s, or -T if longer]")
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
            throw Error(
                "--rank and --size belong to --rendezvous tcp://HOST:PORT, or leave them out");
        };
        group.app()
            .add_option_function<std::string>(name, ignore, what)
            ->group(group.heading())
            ->type_name(type);
    };
    add("--rendezvous", "tcp://HOST:PORT",
        "without mpirun: processes that meet at rank 0's host; auto: as torchrun or srun says");
    add("--rank", "R", "this process among them, from 0");
    add("--size", "N", "how many they are");
}

void add_rank_options(const OptionGroup& group, RunOptions& run) {
    group.parsed("--pin", run.pin, "auto", one_of<bool>("--pin", {{"auto", true}, {"no", false}}),
                 "ranks to cores, evenly; auto: unless the launcher has");
    add_timeout(group, run.ranks);
    const OptionGroup ranks(group.app(), "Ranks");
    add_threads(ranks, run.ranks, "without mpirun: so many threads");
    add_rendezvous(ranks);
}

void add_limits(const OptionGroup& group, RunOptions& run, const std::string& what) {
    run.limits = "stored";
    group.text("--limits", run.limits, what + ": stored, measure, none or FILE")
        ->envname("TUTTI_LIMITS");
}

void add_launches(const OptionGroup& group, RunOptions& run) {
    group.number("--launches", run.launches, 1, 10'000,
                 "so many, each with processes of its own; intervals are then those between "
                 "launches");
    group.text("--launcher", run.launcher,
               "words that start the ranks of each launch, as 'mpirun -n 2'");
}

void add_results_file(const OptionGroup& group, RunOptions& run) {
    group.text("--json", run.ranks.results_file,
               "append records to this file (JSON Lines); folders are made");
    group.app()
        .add_option_function<std::string>(
            "--resume", [](const std::string&) {},
            "go on with the run of this results file that was interrupted; alone, with its options")
        ->group(group.heading())
        ->type_name("FILE");
}

void resume_if_asked(const std::string& resume, RunOptions& run,
                     std::span<const std::string_view> free) {
    if (resume.empty()) return;
    run.resumed = interrupted_run(resume, run.command);
    expect_same_plan(run.resumed->session.plan, run.as_understood, free);
    if (launcher().rank == 0) return;
    run.resumed->points.clear();
    run.resumed->steps.clear();
}

}  // namespace tutti
