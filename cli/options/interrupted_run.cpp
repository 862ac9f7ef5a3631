// SPDX-License-Identifier: Apache-2.0
#include "cli/options/interrupted_run.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.hpp"

namespace tutti {
namespace {

bool is_of(const Session& session, const std::string& command) {
    return session.argv.size() > 1 && session.argv[1] == command;
}

const Session* find_session(const Results& results, const std::string& id) {
    const auto found = std::ranges::find(results.sessions, id, &Session::id);
    return found == results.sessions.end() ? nullptr : &*found;
}

// The sessions of one run, the last part first: each resumes the next one.
std::vector<std::string> parts_of(const Results& results, const Session& last) {
    std::vector<std::string> parts;
    for (const Session* part = &last; part != nullptr;
         part = part->resume_of ? find_session(results, *part->resume_of) : nullptr) {
        if (std::ranges::find(parts, part->id) != parts.end()) break;
        parts.push_back(part->id);
    }
    return parts;
}

// Where records go, which --resume says itself.
constexpr std::string_view names_of_results[] = {"--json", "-J", "--output_file", "--resume"};

// What else is written. A results file may be somebody else's: which files of this machine it
// replaces is not for it to say.
constexpr std::string_view names_of_other_files[] = {"--csv", "--timeline"};

// How it is printed.
constexpr std::string_view names_of_looks[] = {"--like", "--all-rows"};

std::string option_called(const std::string& name) {
    if (name == "words") return "what stands behind the two dashes";  // of a comparison
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
            throw Error(fmt::format(
                "the last run in '{}' came to its end: there is nothing to resume; leave --resume "
                "out, and give --json FILE for a new run",
                file));
    const std::vector<std::string> parts = parts_of(results, run.session);
    for (const Point& point : results.points)
        if (std::ranges::find(parts, point.session) != parts.end()) run.points.push_back(point);
    for (const Pair& pair : results.pairs)
        if (std::ranges::find(parts, pair.session) != parts.end()) run.pairs.push_back(pair);
    // The first part that has any, from the last one on: each begins with what was there before.
    for (const std::string& part : parts) {
        if (!run.steps.empty()) break;
        for (const TrainingStep& step : results.steps)
            if (step.session == part) run.steps.push_back(step);
    }
    return run;
}

std::string take_resume(const std::string& command, Arguments& arguments) {
    // What stands behind two dashes is another command's.
    const auto dashes = std::ranges::find(arguments, "--");
    const Arguments others(dashes, arguments.end());
    Arguments own(arguments.begin(), dashes);
    std::optional<std::string> named;
    for (std::size_t i = 0; i < own.size(); ++i) {
        if (own[i].starts_with("--resume=")) named = own[i].substr(9);
        if (own[i] == "--resume") named = i + 1 < own.size() ? own[i + 1] : "";
    }
    if (!named) return "";
    const std::string file = *named;
    if (file.empty())
        throw Error("--resume needs the results file of the interrupted run; type --resume FILE");
    own = without_options(own, names_of_results);
    if (command == "compare") {
        if (own.empty() && others.empty())
            throw Error(
                "a comparison goes on by its own words, as they may be any program's; type them, "
                "with --resume FILE in the place of --json FILE");
    } else if (without_options(own, names_of_other_files).empty()) {
        const Session session = interrupted_run(file, command).session;
        const Arguments words = without_options(
            without_options({session.argv.begin() + 2, session.argv.end()}, names_of_results),
            names_of_other_files);
        own.insert(own.begin(), words.begin(), words.end());
    }
    own.insert(own.end(), {"--json", file});
    own.insert(own.end(), others.begin(), others.end());
    arguments = own;
    return file;
}

bool changes_measurements(const std::string& name) {
    const std::string option = option_called(name);
    return !names_option(option, names_of_results) && !names_option(option, names_of_other_files) &&
           !names_option(option, names_of_looks) && !name.ends_with("timeout") &&
           name != "allow-skips";
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
        if (!changes_measurements(name) || names_option(option_called(name), free)) continue;
        const std::string before = value_in(interrupted, name), now = value_in(typed, name);
        if (before != now)
            throw Error(fmt::format(
                "the interrupted run had '{}' for {}, not '{}'; type the options that it had",
                before, option_called(name), now));
    }
}

}  // namespace tutti
