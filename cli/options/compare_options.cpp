// SPDX-License-Identifier: Apache-2.0
#include "cli/options/compare_options.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "cli/jobs/job.hpp"
#include "cli/options/options.hpp"
#include "cli/options/typed_comparison.hpp"
#include "cli/options/values.hpp"

namespace tutti {
namespace {

std::set<Change> parse_fail_on(const std::string& text) {
    if (text.empty())
        throw Error("--fail-on is empty; use slower, undecided, faster, a list, or none");
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
    if (typed.program_a.empty()) refuse("calls of bench", {"--rate"});
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
              "Numbers to compare: a regular expression for a line, whose last group is the number "
              "and whose first (of two) names it; or a JSON pointer such as /results/0/time (* for "
              "all entries)")
        ->expected(1)
        ->allow_extra_args(false)
        ->take_all();
    programs.flag("--rate", typed.more_is_better, "Treat the numbers as rates: larger is better");
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
    verdicts.parsed(
        "--fail-on", options.fail_on, "slower", parse_fail_on,
        "Verdicts that fail: slower (exit code 1), undecided (3), faster (1); a list, or none");
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
                "Print the last comparison of this results file without any launch");
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
        set_programs(typed, options);
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
