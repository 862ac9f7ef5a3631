// SPDX-License-Identifier: Apache-2.0
#include "cli/options/run_plan.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <set>

#include "cli/options/completion.hpp"

namespace tutti {
namespace {

bool is_of(const Session& session, const std::string& command) {
    return session.argv.size() > 1 && session.argv[1] == command;
}

const Session* find_session(const Results& results, const std::string& id) {
    const auto found = std::ranges::find(results.sessions, id, &Session::id);
    return found == results.sessions.end() ? nullptr : &*found;
}

// Returns the sessions of one run, the last part first: each resumes the next one.
std::vector<std::string> parts_of(const Results& results, const Session& last) {
    std::vector<std::string> parts;
    for (const Session* part = &last; part != nullptr;
         part = part->resume_of ? find_session(results, *part->resume_of) : nullptr) {
        if (std::ranges::find(parts, part->id) != parts.end()) break;
        parts.push_back(part->id);
    }
    return parts;
}

// Options for the results file, which --resume replaces.
constexpr std::string_view results_options[] = {"json", "output_file", "resume"};

// Options for other output files. They are not taken from a results file: it may come from somebody
// else, and must not choose which files of this machine are overwritten.
constexpr std::string_view other_files[] = {"csv", "timeline"};

// Options for the output format.
constexpr std::string_view formats[] = {"like", "all-rows"};

bool is_in(std::span<const std::string_view> names, std::string_view name) {
    return std::ranges::find(names, name) != names.end();
}

std::string option_called(const std::string& name) {
    if (name == "words")
        return "the command after the two dashes";  // the words after "--" of a comparison
    return (name.size() > 1 ? "--" : "-") + name;
}

}  // namespace

InterruptedRun interrupted_run(const std::string& file, const std::string& command) {
    const Results results = read_results(file);
    InterruptedRun run;
    for (const Session& session : results.sessions)
        if (is_of(session, command)) run.session = session;
    if (run.session.id.empty())
        throw Error(fmt::format("'{}' holds no run of 'tutti {}' to resume", file, command));
    for (const End& end : results.ends)
        if (end.session == run.session.id)
            throw Error(
                fmt::format("the last run in '{}' is complete, so there is nothing to resume; use "
                            "--json FILE for a new run",
                            file));
    const std::vector<std::string> parts = parts_of(results, run.session);
    for (const Point& point : results.points)
        if (std::ranges::find(parts, point.session) != parts.end()) run.points.push_back(point);
    for (const Pair& pair : results.pairs)
        if (std::ranges::find(parts, pair.session) != parts.end()) run.pairs.push_back(pair);
    // Uses the newest part with steps: each part begins with the steps of the part before.
    for (const std::string& part : parts) {
        if (!run.steps.empty()) break;
        for (const TrainingStep& step : results.steps)
            if (step.session == part) run.steps.push_back(step);
    }
    return run;
}

bool RunPlan::has(std::string_view name) const {
    return std::ranges::find(given, name, &GivenOption::name) != given.end();
}

void RunPlan::set(const std::string& name, const std::string& value) {
    const std::string_view names[] = {name};
    erase(names);
    given.push_back({name, {value}});
}

void RunPlan::erase(std::span<const std::string_view> names) {
    std::erase_if(given, [&](const GivenOption& one) { return is_in(names, one.name); });
}

Arguments RunPlan::arguments() const {
    Arguments words, options;
    for (const GivenOption& one : given) {
        const std::string name = (one.name.size() > 1 ? "--" : "-") + one.name;
        const bool is_flag = one.kind == GivenOption::Kind::flag;
        if (is_flag && one.values.empty()) options.push_back(name);
        for (const std::string& value : one.values) {
            if (one.kind == GivenOption::Kind::positional)
                words.push_back(value);
            else if (is_flag || value.starts_with('-'))  // CLI11 ignores "=" before an empty value
                options.push_back(name + "=" + value);
            else
                options.insert(options.end(), {name, value});
        }
    }
    words.insert(words.end(), options.begin(), options.end());
    return words;
}

RunPlan plan_of(std::string command, const CLI::App& app, Arguments arguments) {
    RunPlan plan{.command = std::move(command), .given = {}, .values = {}, .typed = {}};
    plan.typed = std::move(arguments);
    std::set<const CLI::Option*> seen;
    for (const CLI::Option* option : app.parse_order()) {
        if (!seen.insert(option).second) continue;
        const bool is_flag = option->get_items_expected_max() == 0;
        Arguments values = option->results();
        if (is_flag && values.back() == "true") values.clear();  // "false" of "--raw=false" stays
        plan.given.push_back({.name = option->get_single_name(),
                              .values = std::move(values),
                              .kind = is_flag                   ? GivenOption::Kind::flag
                                      : option->nonpositional() ? GivenOption::Kind::option
                                                                : GivenOption::Kind::positional});
    }
    for (const CLI::Option* option : app.get_options()) {
        const std::string name = option->get_single_name();
        // The rank and the meeting point do not belong to what is measured.
        if (name == "help" || name == "rendezvous" || name == "rank" || name == "size") continue;
        std::string value;
        for (const auto& word : option->results()) value += (value.empty() ? "" : " ") + word;
        plan.values[name] = option->count() > 0 ? value : option->get_default_str();
    }
    return plan;
}

std::optional<std::string> option_in(const Arguments& arguments, const std::string& name) {
    CLI::App app;
    app.set_help_flag();
    app.allow_extras();
    std::string value;
    const CLI::Option* option = app.add_option(name, value)
                                    ->expected(0, 1)
                                    ->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
    app.parse(Arguments(arguments.rbegin(), arguments.rend()));
    return option->count() > 0 ? std::optional(value) : std::nullopt;
}

SplitArguments split_at_dashes(const Arguments& arguments) {
    const auto end = arguments.end() - (asks_for_completion(arguments) ? 2 : 0);
    const auto dashes = std::find(arguments.begin(), end, "--");
    if (dashes == end) return {arguments, std::nullopt};
    return {Arguments(arguments.begin(), dashes), Arguments(dashes + 1, arguments.end())};
}

bool resumes_alone(const RunPlan& plan) {
    return plan.has("resume") && std::ranges::all_of(plan.given, [](const GivenOption& one) {
               return is_in(results_options, one.name) || is_in(other_files, one.name);
           });
}

RunPlan plan_to_resume(const RunPlan& plan, const std::string& file,
                       const std::function<RunPlan(const Arguments&)>& parse) {
    const Session session = interrupted_run(file, plan.command).session;
    RunPlan resumed = parse({session.argv.begin() + 2, session.argv.end()});
    resumed.erase(results_options);
    resumed.erase(other_files);
    if (resumed.given.empty())
        throw Error(fmt::format("the interrupted run in '{}' has no options", file));
    resumed.given.insert(resumed.given.end(), plan.given.begin(), plan.given.end());
    return resumed;
}

void write_to_resumed_file(RunPlan& plan, const std::string& file) {
    plan.erase(results_options);
    plan.set("json", file);
    for (const std::string_view name : results_options)
        if (const auto value = plan.values.find(std::string(name)); value != plan.values.end())
            value->second = name == "json" ? file : "";
    plan.typed = plan.arguments();
}

bool changes_measurements(const std::string& name) {
    return !is_in(results_options, name) && !is_in(other_files, name) && !is_in(formats, name) &&
           !name.ends_with("timeout") && name != "allow-skips";
}

void expect_same_plan(const TextByName& interrupted, const TextByName& typed,
                      std::span<const std::string_view> free) {
    const auto value_in = [](const TextByName& plan, const std::string& name) {
        const auto found = plan.find(name);
        return found == plan.end() ? std::string() : found->second;
    };
    TextByName all = interrupted;
    all.insert(typed.begin(), typed.end());
    for (const auto& [name, value] : all) {
        if (!changes_measurements(name) || is_in(free, name)) continue;
        const std::string before = value_in(interrupted, name), now = value_in(typed, name);
        if (before != now)
            throw Error(
                fmt::format("the interrupted run had '{}' for {}, not '{}'; use its options",
                            before, option_called(name), now));
    }
}

}  // namespace tutti
