// SPDX-License-Identifier: Apache-2.0
#include "cli/options/compare_options.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "cli/options/options.hpp"
#include "cli/options/values.hpp"

namespace tutti {
namespace {

// As typed.
struct TypedComparison {
    std::string a, b;  // executables
    std::vector<std::string> environment_a, environment_b;
    std::string words_a, words_b;
    std::string program_a, program_b;
    std::vector<std::string> metrics;
    bool more_is_better = false;
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

std::string this_program() { return std::filesystem::read_symlink("/proc/self/exe"); }

// "NAME=VALUE"
std::map<std::string, std::string> variables_of(const std::vector<std::string>& typed) {
    std::map<std::string, std::string> variables;
    for (const std::string& one : typed) {
        const std::size_t equals = one.find('=');
        if (equals == 0 || equals == std::string::npos)
            throw Error("'" + one + "' sets no variable; type NAME=VALUE");
        variables[one.substr(0, equals)] = one.substr(equals + 1);
    }
    return variables;
}

std::vector<std::string> words_of(const std::string& text) {
    std::string copy = text;
    return CLI::detail::split_up(copy);
}

// What lets Open MPI start two jobs on the same cores, also as root; other launchers pass over it.
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
    Command command{.is_of_this_host = typed.launcher.empty()};
    if (!typed.threads)
        command.words = typed.launcher.empty()
                            ? std::vector<std::string>{"mpirun", "-n", std::to_string(typed.ranks)}
                            : words_of(typed.launcher);
    command.words.push_back(executable.empty() ? this_program()
                                               : std::filesystem::absolute(executable).string());
    command.words.insert(command.words.end(), common_words.begin(), common_words.end());
    const auto own = words_of(own_words);
    command.words.insert(command.words.end(), own.begin(), own.end());
    if (typed.threads)
        command.words.insert(command.words.end(), {"--ranks", std::to_string(typed.ranks)});
    command.environment = environment_of_jobs();
    for (const auto& [name, value] : variables_of(environment)) command.environment[name] = value;
    return command;
}

std::string in_words(const std::string& program, const std::vector<std::string>& environment,
                     const std::string& own_words) {
    std::string words = fmt::format("{}", fmt::join(environment, " "));
    for (const std::string& part : {program, own_words})
        if (!part.empty()) words += (words.empty() ? "" : " ") + part;
    return words;
}

void set_twins(const TypedComparison& typed, const std::vector<std::string>& common_words,
               CompareOptions& options) {
    if (common_words.empty() || common_words.front() != "bench")
        throw Error(
            "nothing is measured; type tutti compare A B -- bench all_reduce -b 8 -e 1M, or "
            "--program-a, --program-b and --metric (with --aa no B)");
    for (const std::string& executable : {typed.a, typed.b})
        if (!executable.empty() && ::access(executable.c_str(), X_OK) != 0)
            throw Error("'" + executable +
                        "' cannot be run; type the path of a tutti, as build/tutti");
    TwinJobs jobs{
        .a = command_of_job(typed, typed.a, typed.words_a, typed.environment_a, common_words),
        .b = command_of_job(typed, typed.b, typed.words_b, typed.environment_b, common_words),
        .listen = typed.listen};
    if (options.launches_of_same > 0) jobs.b = jobs.a;
    if (typed.quads > 0) jobs.quads = typed.quads;
    options.launch = jobs;
    if (typed.attributes) options.attributed = jobs;
    const std::string self = "this tutti";
    options.a = in_words(typed.a.empty() ? self : typed.a, typed.environment_a, typed.words_a);
    options.b = in_words(typed.b.empty() ? self : typed.b, typed.environment_b, typed.words_b);
    options.ranks = typed.launcher.empty() ? typed.ranks : 0;
    options.what =
        fmt::format("{}, {}", fmt::join(common_words, " "),
                    typed.launcher.empty()
                        ? fmt::format("{} {}", typed.ranks, typed.threads ? "threads" : "ranks")
                        : "ranks by '" + typed.launcher + "'");
}

// A file that --json wrote, not an executable.
bool is_results_file(const std::string& path) {
    return path.ends_with(".jsonl") || std::ifstream(path).peek() == '{';
}

// OLD.jsonl NEW.jsonl, one of them for its floors alone, or --baseline OLD.jsonl -- bench ...
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
                        "' against what? type another results file behind it, or --at-least");
        return;
    }
    if (!typed.words_a.empty() || !typed.environment_a.empty())
        throw Error("A is the baseline, already measured; leave --words-a and --env-a out");
    const bool has_job = !common_words.empty() &&
                         (common_words.front() == "bench" || common_words.front() == "workload");
    if (!has_job || !typed.b.empty())
        throw Error("--baseline " + typed.baseline +
                    " is A; type what B measures behind two dashes: tutti compare --baseline " +
                    typed.baseline + " -- bench all_reduce -b 8 -e 1M");
    baseline.a = typed.baseline;
    baseline.job = command_of_job(typed, typed.a, typed.words_b, typed.environment_b, common_words);
    // Alone on its cores, it is placed as any other job.
    for (const auto& [name, value] : environment_of_jobs())
        if (name.find("_MCA_") != std::string::npos) baseline.job.environment.erase(name);
    for (const auto& [name, value] : variables_of(typed.environment_b))
        baseline.job.environment[name] = value;
}

void set_programs(const TypedComparison& typed, CompareOptions& options) {
    if (typed.program_a.empty() || (typed.program_b.empty() && options.launches_of_same == 0))
        throw Error("--metric is for two programs; type --program-a and --program-b, too");
    if (typed.attributes)
        throw Error("--attribute sees the steps of tutti's own algorithms; leave it out here");
    if (typed.metrics.empty())
        throw Error(
            "which number counts? type --metric with a regular expression whose last group "
            "is the number, or a JSON pointer such as /time");
    if (!options.floors.empty())
        throw Error("--at-least and --at-most are for the calls of bench, not for programs");
    const auto command = [](const std::string& program, const auto& environment) {
        return Command{{"/bin/sh", "-c", program}, variables_of(environment)};
    };
    Programs programs{.a = command(typed.program_a, typed.environment_a),
                      .b = command(typed.program_b, typed.environment_b),
                      .metrics = typed.metrics,
                      .more_is_better = typed.more_is_better};
    if (options.launches_of_same > 0) programs.b = programs.a;
    if (typed.quads > 0) programs.quads = typed.quads;
    options.launch = programs;
    options.a = in_words(typed.program_a, typed.environment_a, "");
    options.b = in_words(typed.program_b, typed.environment_b, "");
    options.what = fmt::format("{}", fmt::join(typed.metrics, ", "));
}

std::set<Change> parse_fail_on(const std::string& text) {
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
        throw Error(
            fmt::format("--write {}: into which file? type --write {}=FILE, or {}=- for stdout",
                        text, view.name, view.name));
    return {&view, text.substr(equals + 1)};
}

std::string names_of_views() {
    std::string names;
    for (const View& view : views()) names += (names.empty() ? "" : ", ") + std::string(view.name);
    return names;
}

}  // namespace

std::optional<CompareOptions> parse_compare(const Arguments& typed_words) {
    Arguments arguments = typed_words;
    const std::string resume = take_resume("compare", arguments);
    CompareOptions options;
    options.run.command = "compare";
    options.run.arguments = arguments;
    const auto dashes = two_dashes(arguments);
    const Arguments own(arguments.begin(), dashes);
    const Arguments common(dashes == arguments.end() ? dashes : dashes + 1, arguments.end());
    TypedComparison typed;
    CLI::App app{
        "A against B: both at the same time on the same cores, by turns, until a verdict.\n"
        "tutti compare [A] [B] [OPTIONS] -- bench COLLECTIVE ...: two builds of tutti (this "
        "one, where none is named), or two settings of one.\n"
        "tutti compare OLD.jsonl NEW.jsonl, or --baseline OLD.jsonl -- bench ...: against what "
        "was measured earlier.\n"
        "tutti compare --program-a COMMAND --program-b COMMAND --metric PATTERN: anything "
        "that prints times.",
        "tutti compare"};
    app.add_option("a", typed.a, "an executable: the base; or a results file");
    app.add_option("b", typed.b, "another: the candidate");
    const OptionGroup both{app, "What differs"};
    both.list("--env-a", typed.environment_a, "variables of A, NAME=VALUE ...");
    both.list("--env-b", typed.environment_b, "variables of B");
    both.text("--words-a", typed.words_a, "more words of A's bench, as '--algo ring'");
    both.text("--words-b", typed.words_b, "more words of B's");
    const OptionGroup programs{app, "Programs"};
    programs.text("--program-a", typed.program_a, "a shell command that prints times");
    programs.text("--program-b", typed.program_b, "another");
    programs
        .list("--metric", typed.metrics,
              "which numbers: a regular expression for a line, whose last group is the number and "
              "whose first (of two) names it; or a pointer into JSON, as /results/0/time")
        ->expected(1)
        ->take_all();
    programs.flag("--rate", typed.more_is_better, "more is better: the numbers are rates");
    const OptionGroup ranks{app, "Ranks"};
    ranks.number("-n,--ranks", typed.ranks, 1, 100'000, "of each job")->capture_default_str();
    ranks.text("--launcher", typed.launcher,
               "words that start a job, instead of 'mpirun -n RANKS': 'mpirun -n 4 --hostfile "
               "hosts'");
    ranks.flag("--threads", typed.threads, "ranks as threads, without a launcher");
    ranks.text("--listen", typed.listen,
               "the address of this machine that the jobs' first ranks reach");
    const OptionGroup verdicts{app, "Verdicts"};
    verdicts.parsed("--min-effect", options.plan.rule.min_effect, "2.5%", parse_target,
                    "a change must be larger to be one");
    verdicts.parsed("--budget", options.plan.budget_seconds, "60s", parse_timeout,
                    "no launch begins that would end later");
    verdicts.parsed("--fail-on", options.fail_on, "slower", parse_fail_on,
                    "verdicts that fail: slower (exit code 1), undecided (3), faster (1); a list, "
                    "or none");
    verdicts.parsed("--quads", typed.quads, "", parse_quads,
                    "rounds A B B A in a launch [8 to 100; 2 of programs]");
    verdicts
        .number("--aa", options.launches_of_same, 1, 100'000,
                "A against itself in so many launches: how often this machine gives a false alarm, "
                "and how many launches a wish needs")
        ->type_name("LAUNCHES");
    verdicts
        .list("--at-least", typed.at_least,
              "B has to reach it: 'all_reduce 1M busbw 20' (GB/s; or algbw), with words of the "
              "candidate before busbw if it has to be that one")
        ->expected(1)
        ->take_all();
    verdicts.list("--at-most", typed.at_most, "B may take it: 'all_reduce 8 p50 3us'")
        ->expected(1)
        ->take_all();
    const OptionGroup stored{app, "A stored baseline, which is weaker than both at once"};
    stored.text("--baseline", typed.baseline, "A: several launches of bench; B is measured now")
        ->type_name("FILE");
    stored.number("--launches", typed.launches, 1, 1000, "of B, as far as --budget goes")
        ->capture_default_str();
    stored
        .list("--ignore-fingerprint", typed.ignored,
              "a field (cpu_model, nranks, UCX_TLS ...) in which A and B may differ")
        ->expected(1)
        ->take_all();
    const OptionGroup output{app, "Output"};
    output.text("--explain", options.explained,
                "show launches and the rule that decided, of metrics with this in their name");
    output.flag("--attribute", typed.attributes,
                "which step of its plan made a slower metric slower: five more launches");
    add_results_file(output, options.run);
    output.list("--write", typed.written, "VIEW=FILE ... for other programs: " + names_of_views())
        ->expected(1)
        ->take_all();
    output.text("--from", options.stored,
                "no launches: what the last comparison in this results file said");
    if (parse_or_help(app, own)) return std::nullopt;
    options.explains = app.count("--explain") > 0;
    if (options.launches_of_same > 0 &&
        (!typed.b.empty() || !typed.words_b.empty() || !typed.environment_b.empty() ||
         !typed.program_b.empty() || !typed.written.empty() || options.explains ||
         !typed.baseline.empty() || !typed.at_least.empty() || !typed.at_most.empty()))
        throw Error(
            "--aa compares A with itself and gives no verdict; leave B, floors, --write and "
            "--explain out");
    for (const std::string& one : typed.written) options.written.push_back(parse_written(one));
    for (const std::string& one : typed.at_least)
        options.floors.push_back(parse_floor(Floor::Side::at_least, one));
    for (const std::string& one : typed.at_most)
        options.floors.push_back(parse_floor(Floor::Side::at_most, one));
    if (!options.stored.empty()) {
        if (typed.attributes || !resume.empty())
            throw Error("--attribute and --resume start launches, --from none; leave them out");
        return options;
    }
    options.times_are_ns = typed.program_a.empty() && typed.metrics.empty();
    if (!typed.metrics.empty() || !typed.program_a.empty())
        set_programs(typed, options);
    else if (!typed.baseline.empty() || (common.empty() && is_results_file(typed.a)))
        set_stored(typed, common, options);
    else
        set_twins(typed, common, options);
    if (!options.baseline && app.count("--launches") + app.count("--ignore-fingerprint") > 0)
        throw Error(
            "--launches and --ignore-fingerprint are for a stored baseline; add --baseline FILE");
    if (typed.attributes && !options.attributed)
        throw Error(
            "--attribute is for two builds or settings that are measured by turns; leave it out "
            "here");
    options.run.as_understood = understood(app);
    if (!common.empty())
        options.run.as_understood["words"] = fmt::format("{}", fmt::join(common, " "));
    if (!resume.empty() && options.baseline)
        throw Error("--resume goes on with launches of both A and B; leave it out with a stored A");
    constexpr std::string_view free[] = {"--budget", "--write", "--explain", "--fail-on"};
    resume_if_asked(resume, options.run, free);
    return options;
}

}  // namespace tutti
