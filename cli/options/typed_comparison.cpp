// SPDX-License-Identifier: Apache-2.0
#include "cli/options/typed_comparison.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "cli/jobs/job.hpp"

namespace tutti {
namespace {

// Parses "NAME=VALUE" texts.
std::map<std::string, std::string> variables_of(const std::vector<std::string>& typed) {
    std::map<std::string, std::string> variables;
    for (const std::string& one : typed) {
        const std::size_t equals = one.find('=');
        if (equals == 0 || equals == std::string::npos)
            throw Error("'" + one + "' is not a variable assignment; use NAME=VALUE");
        variables[one.substr(0, equals)] = one.substr(equals + 1);
    }
    return variables;
}

// Lets Open MPI start two jobs on the same cores, also as root. Other launchers ignore these
// variables.
std::map<std::string, std::string> environment_of_jobs() {
    return {{"OMPI_ALLOW_RUN_AS_ROOT", "1"},
            {"OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1"},
            {"OMPI_MCA_rmaps_base_oversubscribe", "1"},
            {"OMPI_MCA_hwloc_base_binding_policy", "none"},
            {"PRTE_MCA_rmaps_default_mapping_policy", ":oversubscribe"},
            {"PRTE_MCA_hwloc_default_binding_policy", "none"}};
}

Command command_of_job(const TypedComparison& typed, const std::string& executable,
                       const std::string& own_words, const std::vector<std::string>& environment,
                       const std::vector<std::string>& common_words) {
    Arguments words = common_words;
    const Arguments own = shell_words(own_words);
    words.insert(words.end(), own.begin(), own.end());
    const std::string ranks = std::to_string(typed.ranks);
    if (typed.threads) words.insert(words.end(), {"--ranks", ranks});
    const std::string launcher =
        typed.threads || !typed.launcher.empty() ? typed.launcher : "mpirun -n " + ranks;
    Command command = job_command(
        launcher,
        executable.empty() ? this_program() : std::filesystem::absolute(executable).string(),
        words);
    command.is_of_this_host = typed.launcher.empty();
    command.environment = environment_of_jobs();
    for (const auto& [name, value] : variables_of(environment)) command.environment[name] = value;
    return command;
}

std::string describe_side(const std::string& program, const std::vector<std::string>& environment,
                          const std::string& own_words) {
    std::string words = fmt::format("{}", fmt::join(environment, " "));
    for (const std::string& part : {program, own_words})
        if (!part.empty()) words += (words.empty() ? "" : " ") + part;
    return words;
}

}  // namespace

void set_twins(const TypedComparison& typed, const std::vector<std::string>& common_words,
               CompareOptions& options) {
    for (const std::string& executable : {typed.a, typed.b})
        if (common_words.empty() && !executable.empty() && !std::filesystem::exists(executable))
            throw Error("'" + executable +
                        "' does not exist; use results files or tutti executables");
    if (!common_words.empty() && common_words.front() == "tutti")
        throw Error(
            "use the command without tutti after the two dashes, such as: -- bench all_reduce");
    if (common_words.empty() || common_words.front() != "bench")
        throw Error(
            "no command to measure; use tutti compare A B -- bench all_reduce -b 8 -e 1M, or "
            "--program-a, --program-b and --metric (with --aa without B)");
    for (const std::string& executable : {typed.a, typed.b})
        if (!executable.empty() && ::access(executable.c_str(), X_OK) != 0)
            throw Error("'" + executable +
                        "' cannot be run; use the path of a tutti executable such as build/tutti" +
                        (typed.words_a.empty() && typed.words_b.empty()
                             ? ""
                             : ", and quotes around the words of --words-a and --words-b"));
    TwinJobs jobs{
        .a = command_of_job(typed, typed.a, typed.words_a, typed.environment_a, common_words),
        .b = command_of_job(typed, typed.b, typed.words_b, typed.environment_b, common_words),
        .listen = typed.listen};
    if (options.launches_of_same > 0) jobs.b = jobs.a;
    if (typed.quads > 0) jobs.quads = typed.quads;
    options.launch = jobs;
    if (typed.attributes) options.attributed = jobs;
    const std::string self = "this tutti";
    options.a = describe_side(typed.a.empty() ? self : typed.a, typed.environment_a, typed.words_a);
    options.b = describe_side(typed.b.empty() ? self : typed.b, typed.environment_b, typed.words_b);
    options.ranks = typed.launcher.empty() ? typed.ranks : 0;
    options.what =
        fmt::format("{}, {}", fmt::join(common_words, " "),
                    typed.launcher.empty()
                        ? fmt::format("{} {}", typed.ranks, typed.threads ? "threads" : "ranks")
                        : "ranks by '" + typed.launcher + "'");
}

bool is_results_file(const std::string& path) {
    std::string first(4, '\0');
    std::ifstream(path).read(first.data(), 4);
    return path.ends_with(".jsonl") || first.starts_with('{') ||
           first == "\xef\xbb\xbf{";  // begins with a byte order mark
}

void set_stored(const TypedComparison& typed, const std::vector<std::string>& common_words,
                CompareOptions& options) {
    StoredBaseline& baseline = options.baseline.emplace();
    baseline.ignored.insert(typed.ignored.begin(), typed.ignored.end());
    baseline.launches = typed.launches;
    baseline.budget_seconds = options.plan.budget_seconds;
    baseline.kept_in = options.run.results_file();
    if (typed.baseline.empty()) {
        baseline.a = typed.b.empty() ? "" : typed.a;
        baseline.b = typed.b.empty() ? typed.a : typed.b;
        if (typed.b.empty() && options.floors.empty())
            throw Error("'" + typed.a +
                        "' needs a second results file to compare with, or --at-least");
        return;
    }
    if (!typed.words_a.empty() || !typed.environment_a.empty())
        throw Error("--words-a and --env-a cannot be used with --baseline: A is already measured");
    const bool has_job = !common_words.empty() &&
                         (common_words.front() == "bench" || common_words.front() == "workload");
    if (!has_job || !typed.b.empty())
        throw Error(
            "--baseline " + typed.baseline +
            " gives A only; use two dashes and the command of B: tutti compare --baseline " +
            typed.baseline + " -- bench all_reduce -b 8 -e 1M");
    baseline.a = typed.baseline;
    baseline.job = command_of_job(typed, typed.a, typed.words_b, typed.environment_b, common_words);
    // The job has the cores for itself, so it is placed as any other job.
    for (const auto& [name, value] : environment_of_jobs())
        if (name.find("_MCA_") != std::string::npos) baseline.job.environment.erase(name);
    for (const auto& [name, value] : variables_of(typed.environment_b))
        baseline.job.environment[name] = value;
}

void set_programs(const TypedComparison& typed, CompareOptions& options) {
    if (typed.program_a.empty() || (typed.program_b.empty() && options.launches_of_same == 0))
        throw Error("--program-a requires --program-b, and the reverse");
    if (typed.attributes)
        throw Error(
            "--attribute cannot be used with programs: only tutti's own algorithms have known "
            "steps");
    if (typed.metrics.empty())
        throw Error(
            "no metric given; use --metric with a regular expression whose last group is the "
            "number, or a JSON pointer such as /time");
    if (!options.floors.empty())
        throw Error("--at-least and --at-most work for the calls of bench, not for programs");
    const auto command = [](const std::string& program, const auto& environment) {
        return Command{{"/bin/sh", "-c", program}, variables_of(environment)};
    };
    Programs programs;
    programs.a = command(typed.program_a, typed.environment_a);
    programs.b = command(typed.program_b, typed.environment_b);
    programs.metrics = typed.metrics;
    programs.more_is_better = typed.more_is_better;
    programs.run_timeout = typed.run_timeout;
    if (options.launches_of_same > 0) programs.b = programs.a;
    if (typed.quads > 0) programs.quads = typed.quads;
    options.launch = programs;
    options.a = describe_side(typed.program_a, typed.environment_a, "");
    options.b = describe_side(typed.program_b, typed.environment_b, "");
    options.what = fmt::format("{}", fmt::join(typed.metrics, ", "));
}

}  // namespace tutti
