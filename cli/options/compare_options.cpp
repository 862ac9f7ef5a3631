// SPDX-License-Identifier: Apache-2.0
#include "cli/options/compare_options.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "base/encoding.hpp"
#include "cli/jobs/job.hpp"
#include "cli/options/options.hpp"
#include "cli/options/values.hpp"

namespace tutti {
namespace {

// The arguments of 'tutti compare' as typed.
struct TypedComparison {
    std::string a, b;  // executables or results files
    std::vector<std::string> environment_a, environment_b;
    std::string words_a, words_b;
    std::string program_a, program_b;
    std::vector<std::string> metrics;
    bool more_is_better = false;
    std::string unit;
    double run_timeout = 0;  // seconds; 0: derived from the runs so far
    int ranks = 2;
    std::string launcher;
    bool threads = false;
    std::string listen = "127.0.0.1";
    int quads = 0;
    bool attributes = false;
    std::vector<std::string> written;
    std::string baseline;
    int launches = 12;
    std::vector<std::string> ignored, at_least, at_most;
};

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
    command.environment = environment_of_twins();
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
    std::string first(64, ' ');
    std::ifstream(path).read(first.data(), std::ssize(first));
    const std::string text = in_utf8(first);
    const std::size_t begin = text.find_first_not_of(" \t\r\n");
    return path.ends_with(".jsonl") || (begin != text.npos && text[begin] == '{');
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
    for (const auto& [name, value] : environment_of_twins())
        if (name.find("_MCA_") != std::string::npos) baseline.job.environment.erase(name);
    for (const auto& [name, value] : variables_of(typed.environment_b))
        baseline.job.environment[name] = value;
}

void set_programs(const TypedComparison& typed, bool has_direction, CompareOptions& options) {
    if (typed.program_a.empty() || (typed.program_b.empty() && options.launches_of_same == 0))
        throw Error("--program-a requires --program-b, and the reverse");
    if (typed.attributes)
        throw Error(
            "--attribute cannot be used with programs: only tutti's own algorithms have known "
            "steps");
    if (typed.metrics.empty())
        throw Error(
            "no metric given; use --metric with a regular expression whose last group is the "
            "number, a JSON pointer such as /time, wall_time or cpu_time");
    if (!typed.unit.empty() && !with_unit(1, typed.unit))
        throw Error("--unit '" + typed.unit +
                    "' is unknown; use ns, us, ms, s, GB/s, or a rate such as images/s");
    if (!options.floors.empty())
        throw Error("--at-least and --at-most work for the calls of bench, not for programs");
    const auto command = [](const std::string& program, const auto& environment) {
        return Command{{"/bin/sh", "-c", program}, variables_of(environment)};
    };
    Programs programs;
    programs.a = command(typed.program_a, typed.environment_a);
    programs.b = command(typed.program_b, typed.environment_b);
    programs.metrics = typed.metrics;
    if (has_direction) programs.more_is_better = typed.more_is_better;
    programs.default_unit = typed.unit;
    programs.run_timeout = typed.run_timeout;
    if (options.launches_of_same > 0) programs.b = programs.a;
    if (typed.quads > 0) programs.quads = typed.quads;
    options.launch = programs;
    options.a = describe_side(typed.program_a, typed.environment_a, "");
    options.b = describe_side(typed.program_b, typed.environment_b, "");
    options.what = fmt::format("{}", fmt::join(typed.metrics, ", "));
}

std::set<Change> parse_fail_on(const std::string& text) {
    if (text.empty())
        throw Error("--fail-on is empty; use slower, faster, same, undecided, a list, or none");
    std::set<Change> changes;
    for (const std::string& name : split_list(text)) {
        if (name == "none") continue;
        Change change{};
        parse_name(name, change);
        changes.insert(change);
    }
    return changes;
}

// "junit=verdicts.xml"
std::pair<const View*, std::string> parse_written(const std::string& text) {
    const std::size_t equals = text.find('=');
    const View& view = find_view(text.substr(0, equals));
    if (equals == std::string::npos || equals + 1 == text.size())
        throw Error(fmt::format("--write {} names no file; use --write {}=FILE, or {}=- for stdout",
                                text, view.name, view.name));
    return {&view, text.substr(equals + 1)};
}

std::string names_of_views() {
    std::string names;
    for (const View& view : views()) names += (names.empty() ? "" : ", ") + std::string(view.name);
    return names;
}

// Refuses an empty value, mostly an unset variable of a script: it would count as a missing option.
void refuse_empty(const CLI::App& app) {
    for (const char* name : {"--baseline", "--from", "--program-a", "--program-b"})
        for (const std::string& typed : app.get_option(name)->results())
            if (typed.empty())
                throw Error(fmt::format(
                    "{} requires a value; use the name of a {}", name,
                    std::string_view(name).starts_with("--program") ? "command" : "results file"));
}

// Refuses output files of the jobs: they would not be read, or both jobs would write the same one.
void refuse_files_of_jobs(const TypedComparison& typed, const Arguments& common) {
    for (const Arguments& words : {common, shell_words(typed.words_a), shell_words(typed.words_b)})
        for (const char* output : {"--json", "-J,--output_file", "--csv"})
            if (option_in(words, output))
                throw Error(
                    fmt::format("{} cannot be used for the jobs of a comparison, which write "
                                "no files; use --json before the two dashes",
                                output));
}

// Refuses options that would have no effect.
void refuse_idle(const CLI::App& app, const TypedComparison& typed, const CompareOptions& options) {
    if (typed.program_a.empty() && typed.run_timeout > 0)
        throw Error(
            "--run-timeout works only with --program-a and --program-b; use -T after the two "
            "dashes");
    const auto refuse = [&app](const char* kind, std::initializer_list<const char*> names) {
        for (const char* name : names)
            if (app.count(name) > 0)
                throw Error(fmt::format("{} cannot be used with {}", name, kind));
    };
    if (!typed.program_a.empty()) {
        if (!typed.a.empty())
            throw Error("'" + typed.a + "' cannot be used with a comparison of programs");
        refuse("a comparison of programs", {"--baseline", "--words-a", "--words-b", "--threads",
                                            "--launcher", "-n", "--listen"});
    } else if (options.baseline && typed.baseline.empty()) {
        refuse("a comparison of results files",
               {"--env-a", "--env-b", "--words-a", "--words-b", "--threads", "--launcher",
                "--quads", "--launches", "-n", "--listen"});
    } else if (options.baseline) {
        refuse("a comparison with a stored baseline", {"--quads"});
    }
    if (typed.program_a.empty()) refuse("calls of bench", {"--rate", "--unit"});
}

}  // namespace

std::optional<CompareOptions> parse_compare(const Arguments& arguments) {
    CompareOptions options;
    const auto [own, other] = split_at_dashes(arguments);
    const Arguments common = other.value_or(Arguments{});
    if (!other && !asks_for_completion(own) && std::ranges::find(own, "bench") != own.end())
        throw Error(
            "the command to measure needs two dashes before it, as in: tutti compare A B -- bench "
            "all_reduce");
    TypedComparison typed;
    CLI::App app{
        "Compare A and B in alternating runs on the same cores until the result is "
        "conclusive.\ntutti compare [A] [B] [OPTIONS] -- bench COLLECTIVE ...: two builds of tutti "
        "(default: this one), or two settings of one build.\ntutti compare OLD.jsonl NEW.jsonl, or "
        "--baseline OLD.jsonl -- bench ...: earlier results.\ntutti compare --program-a COMMAND "
        "--program-b COMMAND --metric PATTERN: any programs that print times.",
        "tutti compare"};
    app.add_option("a", typed.a, "The base: a tutti executable or a results file");
    app.add_option("b", typed.b, "The candidate: a tutti executable or a results file");
    const OptionGroup both{app, "A and B"};
    both.list("--env-a", typed.environment_a, "Environment variables of A, NAME=VALUE ...");
    both.list("--env-b", typed.environment_b, "Environment variables of B, NAME=VALUE ...");
    both.text("--words-a", typed.words_a, "Additional bench options of A, such as '--algo ring'");
    both.text("--words-b", typed.words_b, "Additional bench options of B");
    const OptionGroup programs{app, "Programs"};
    programs.text("--program-a", typed.program_a, "A: a shell command that prints times");
    programs.text("--program-b", typed.program_b, "B: a shell command that prints times");
    programs
        .list("--metric", typed.metrics,
              "Numbers to compare: a regular expression for a line, with one group (the number) or "
              "two (its name, the number); a JSON pointer such as /results/0/time (* for all "
              "entries); wall_time or cpu_time of a whole run")
        ->expected(1)
        ->allow_extra_args(false)
        ->take_all();
    programs.flag("--rate", typed.more_is_better,
                  "Larger numbers are better (default: only those with a unit per second, such as "
                  "GB/s; --rate=false: none)");
    programs.text("--unit", typed.unit,
                  "Unit of numbers that are printed without one, such as ms or images/s");
    programs.parsed(
        "--run-timeout", typed.run_timeout, "", timeout_of("--run-timeout"),
        "Time limit for one run of a program [10 times the longest run so far, at least "
        "10s; first run: what is left of --budget, at most 600s]");
    const OptionGroup ranks{app, "Ranks"};
    ranks.number("-n,--ranks", typed.ranks, 1, 100'000, "Ranks per job")->capture_default_str();
    ranks.text("--launcher", typed.launcher,
               "Command that starts a job, such as 'mpirun -n 4 --hostfile hosts' (default: mpirun "
               "-n RANKS)");
    ranks.flag("--threads", typed.threads, "Run ranks as threads, without a launcher");
    ranks.text("--listen", typed.listen,
               "Address of this machine that the first rank of each job connects to");
    const OptionGroup verdicts{app, "Verdicts"};
    verdicts.parsed("--min-effect", options.plan.rule.min_effect, "2.5%", target_of("--min-effect"),
                    "Smallest relative change to report");
    verdicts.parsed("--budget", options.plan.budget_seconds, "60s", timeout_of("--budget"),
                    "Stop starting new launches when the next would exceed this time");
    verdicts.parsed("--fail-on", options.fail_on, "slower", parse_fail_on,
                    "Verdicts that fail the command: slower, faster, same (exit code 1), undecided "
                    "(3); a list, or none");
    verdicts.parsed("--quads", typed.quads, "", parse_quads,
                    "ABBA rounds per launch (default: adaptive, 8-100; 2 with --program-a)");
    verdicts
        .number("--aa", options.launches_of_same, 1, 100'000,
                "Run A against A for N launches; report the false-alarm rate and launches needed "
                "to detect a change")
        ->type_name("LAUNCHES");
    verdicts
        .list("--at-least", typed.at_least,
              "Require B to reach at least this value, e.g. 'all_reduce 1M busbw 20' (GB/s; or "
              "algbw); name a candidate to restrict the check")
        ->expected(1)
        ->allow_extra_args(false)
        ->take_all();
    verdicts
        .list("--at-most", typed.at_most,
              "Require B to take at most this time, e.g. 'all_reduce 8 p50 3us'")
        ->expected(1)
        ->allow_extra_args(false)
        ->take_all();
    const OptionGroup stored{app, "Stored baseline (weaker than measuring A and B together)"};
    stored
        .text("--baseline", typed.baseline,
              "A: results file with several launches of bench; B is measured now")
        ->type_name("FILE");
    stored
        .number("--launches", typed.launches, 1, 1000,
                "Launches of B, as many as fit into --budget")
        ->capture_default_str();
    stored
        .list("--ignore-fingerprint", typed.ignored,
              "Field in which A and B may differ, such as cpu_model, nranks or UCX_TLS")
        ->expected(1)
        ->allow_extra_args(false)
        ->take_all();
    const OptionGroup output{app, "Output"};
    output.text("--explain", options.explained,
                "Print launches and the deciding rule of all metrics with this text in their name");
    output.flag("--attribute", typed.attributes,
                "For slower metrics, find the schedule step responsible (5 extra launches)");
    add_results_file(output, options.run);
    output
        .list("--write", typed.written,
              "Files for other programs, VIEW=FILE. Views: " + names_of_views())
        ->expected(1)
        ->allow_extra_args(false)
        ->take_all();
    output.text("--from", options.stored,
                "Print the last comparison of this results file; nothing is run");
    if (parse_or_help(app, own)) return std::nullopt;
    RunPlan plan = plan_of("compare", app, arguments);
    if (common.empty() && resumes_alone(plan))
        throw Error(
            "--resume FILE alone cannot resume a comparison; repeat its command with --resume FILE "
            "instead of --json FILE");
    set_plan(options.run, std::move(plan));
    refuse_empty(app);
    refuse_files_of_jobs(typed, common);
    if (typed.threads && !typed.launcher.empty())
        throw Error("--threads and --launcher are mutually exclusive");
    options.explains = app.count("--explain") > 0;
    if (options.launches_of_same > 0 &&
        (!typed.b.empty() || !typed.words_b.empty() || !typed.environment_b.empty() ||
         !typed.program_b.empty() || !typed.written.empty() || options.explains ||
         !typed.baseline.empty() || !typed.at_least.empty() || !typed.at_most.empty()))
        throw Error(
            "--aa cannot be used with B, floors, --write or --explain: it compares A with itself "
            "and gives no verdict");
    for (const std::string& one : typed.written) options.written.push_back(parse_written(one));
    for (const std::string& one : typed.at_least)
        options.floors.push_back(parse_floor(Floor::Side::at_least, one));
    for (const std::string& one : typed.at_most)
        options.floors.push_back(parse_floor(Floor::Side::at_most, one));
    if (!options.stored.empty()) {
        if (typed.attributes || !options.run.resume.empty())
            throw Error("--attribute and --resume cannot be used with --from");
        return options;
    }
    options.times_are_ns = typed.program_a.empty() && typed.metrics.empty();
    if (!typed.metrics.empty() || !typed.program_a.empty() || !typed.program_b.empty())
        set_programs(typed, app.count("--rate") > 0, options);
    else if (!typed.baseline.empty() || (common.empty() && is_results_file(typed.a)))
        set_stored(typed, common, options);
    else
        set_twins(typed, common, options);
    refuse_idle(app, typed, options);
    if (!options.baseline && app.count("--launches") + app.count("--ignore-fingerprint") > 0)
        throw Error(
            "--launches and --ignore-fingerprint need a stored baseline; use --baseline FILE");
    if (typed.attributes && !options.attributed)
        throw Error("--attribute works only for two builds or settings measured together");
    if (!common.empty()) {
        options.run.plan.values["words"] = fmt::format("{}", fmt::join(common, " "));
        if (!options.run.resume.empty()) {
            options.run.plan.typed.emplace_back("--");
            options.run.plan.typed.insert(options.run.plan.typed.end(), common.begin(),
                                          common.end());
        }
    }
    if (!options.run.resume.empty() && options.baseline)
        throw Error("--resume cannot be used with a stored baseline");
    constexpr std::string_view free[] = {"budget", "run-timeout", "write", "explain", "fail-on"};
    resume_if_asked(options.run, free);
    return options;
}

}  // namespace tutti
