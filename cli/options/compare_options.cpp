// SPDX-License-Identifier: Apache-2.0
#include "cli/options/compare_options.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "cli/options/options.hpp"
#include "cli/options/shell_words.hpp"
#include "cli/options/typed_comparison.hpp"
#include "cli/options/values.hpp"

namespace tutti {
namespace {

std::set<Change> parse_fail_on(const std::string& text) {
    if (text.empty())
        throw Error("--fail-on names no verdict; type slower, undecided, faster, a list, or none");
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

// An empty text, mostly a variable of a script that is not set, would be no such option at all.
void refuse_empty(const CLI::App& app) {
    for (const char* name : {"--baseline", "--from", "--program-a", "--program-b"})
        for (const std::string& typed : app.get_option(name)->results())
            if (typed.empty())
                throw Error(fmt::format(
                    "nothing stands behind {}; type a {}, or leave it out", name,
                    std::string_view(name).starts_with("--program") ? "command" : "results file"));
}

// Nobody would read what the jobs write, or both would write it.
void refuse_files_of_jobs(const TypedComparison& typed, const Arguments& common) {
    constexpr std::string_view outputs[] = {"--json", "-J", "--output_file", "--csv"};
    Arguments words = common;
    for (const std::string* own : {&typed.words_a, &typed.words_b}) {
        const Arguments more = shell_words(*own);
        words.insert(words.end(), more.begin(), more.end());
    }
    for (const std::string& word : words)
        if (names_option(word, outputs))
            throw Error(fmt::format(
                "the jobs of a comparison write no files: leave {} out, and put --json before the "
                "two dashes",
                word));
}

// What would be passed over in silence.
void refuse_idle(const CLI::App& app, const TypedComparison& typed, const CompareOptions& options) {
    if (typed.program_a.empty() && typed.run_timeout > 0)
        throw Error(
            "--run-timeout works only with --program-a and --program-b; use -T after the two "
            "dashes");
    const auto refuse = [&app](const char* kind, std::initializer_list<const char*> names) {
        for (const char* name : names)
            if (app.count(name) > 0)
                throw Error(fmt::format("{} has no part in {}; leave it out", name, kind));
    };
    if (!typed.program_a.empty()) {
        if (!typed.a.empty())
            throw Error("'" + typed.a + "' has no part in a comparison of programs; leave it out");
        refuse("a comparison of programs",
               {"--baseline", "--words-a", "--words-b", "--threads", "--launcher"});
    } else if (options.baseline && typed.baseline.empty()) {
        refuse("a comparison of results files",
               {"--env-a", "--env-b", "--words-a", "--words-b", "--threads", "--launcher",
                "--quads", "--launches"});
    } else if (options.baseline) {
        refuse("a comparison with a stored baseline", {"--quads"});
    }
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
    programs.parsed(
        "--run-timeout", typed.run_timeout, "", parse_timeout,
        "Time limit for one run of a program [10 times the longest run so far, at least "
        "10s; first run: what is left of --budget, at most 600s]");
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
    refuse_empty(app);
    refuse_files_of_jobs(typed, common);
    if (typed.threads && !typed.launcher.empty())
        throw Error("--threads starts no processes, --launcher does; leave one of them out");
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
    if (!typed.metrics.empty() || !typed.program_a.empty() || !typed.program_b.empty())
        set_programs(typed, options);
    else if (!typed.baseline.empty() || (common.empty() && is_results_file(typed.a)))
        set_stored(typed, common, options);
    else
        set_twins(typed, common, options);
    refuse_idle(app, typed, options);
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
    constexpr std::string_view free[] = {"--budget", "--run-timeout", "--write", "--explain",
                                         "--fail-on"};
    resume_if_asked(resume, options.run, free);
    return options;
}

}  // namespace tutti
