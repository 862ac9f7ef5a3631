// SPDX-License-Identifier: Apache-2.0
#include "cli/forms/other_suites.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <map>
#include <sstream>
#include <vector>

#include "cli/options/run_plan.hpp"
#include "cli/ranks/launcher.hpp"

namespace tutti {

namespace {

// A suite is recognised by prefix and suffix of its programs' names.
struct SuiteOfPrograms {
    std::string_view begin, end;
    Translation translate;
    std::vector<ProgramName> programs;

    bool has(std::string_view name) const {
        return name.size() > begin.size() + end.size() && name.starts_with(begin) &&
               name.ends_with(end);
    }
};

// The list of suites; CMakeLists.txt makes a link for each program.
const SuiteOfPrograms suites[] = {
    {"",
     "_perf",
     words_of_nccl_tests,
     {{"all_reduce_perf", {Collective::all_reduce}},
      {"all_gather_perf", {Collective::all_gather}},
      {"reduce_scatter_perf", {Collective::reduce_scatter}},
      {"broadcast_perf", {Collective::broadcast}},
      {"reduce_perf", {Collective::reduce}},
      {"scatter_perf", {Collective::scatter}},
      {"gather_perf", {Collective::gather}},
      {"alltoall_perf", {Collective::all_to_all}},
      // Their calls do not run in place there, either.
      {"alltoallv_perf", {Collective::all_to_all, true}, "--blocks skewed --inplace no"},
      {"sendrecv_perf", {Collective::all_to_all, true}, "--blocks next --inplace no"}}},
    {"osu_",
     "",
     words_of_osu,
     {{"osu_allreduce", {Collective::all_reduce}},
      {"osu_allgather", {Collective::all_gather}},
      {"osu_reduce_scatter", {Collective::reduce_scatter}},
      {"osu_bcast", {Collective::broadcast}},
      {"osu_reduce", {Collective::reduce}},
      {"osu_scatter", {Collective::scatter}},
      {"osu_gather", {Collective::gather}},
      {"osu_alltoall", {Collective::all_to_all}},
      {"osu_allgatherv", {Collective::all_gather, true}},
      {"osu_gatherv", {Collective::gather, true}},
      {"osu_scatterv", {Collective::scatter, true}},
      {"osu_alltoallv", {Collective::all_to_all, true}},
      {"osu_barrier", {Collective::barrier}}}},
};

std::string names_of_programs(const SuiteOfPrograms& suite) {
    std::string names;
    for (const ProgramName& program : suite.programs) {
        if (!names.empty()) names += ' ';
        names += program.name;
    }
    return names;
}

}  // namespace

Typed read_flags(std::span<const Flag> known, const Arguments& words, const std::string& program) {
    CLI::App app;
    app.set_help_flag();
    app.allow_extras();
    std::map<const CLI::Option*, const Flag*> flags;
    for (const Flag& flag : known) {
        const std::string names = fmt::format("-{0},--{0},--{1}", flag.letter, flag.name);
        CLI::Option* option =
            flag.value == Flag::Value::none ? app.add_flag(names) : app.add_option(names);
        if (flag.value == Flag::Value::attached) option->expected(0, 1);
        flags.emplace(option->multi_option_policy(CLI::MultiOptionPolicy::TakeAll), &flag);
    }
    try {
        app.parse(Arguments(words.rbegin(), words.rend()));  // CLI11 reads from the back
    } catch (const CLI::ParseError&) {
        throw Error(fmt::format("{} needs a value; see '{} --help'", words.back(), program));
    }
    Typed typed{.flags = {}, .others = app.remaining()};
    for (const std::string& word : typed.others)
        if (word.size() > 1 && word[0] == '-' && word[1] != '-')
            throw Error(
                fmt::format("unknown option '{}'; see '{} --help'", word.substr(0, 2), program));
    std::map<const CLI::Option*, std::size_t> read;
    for (const CLI::Option* option : app.parse_order()) {
        const Flag* flag = flags.at(option);
        const std::string& value = option->results().at(read[option]++);
        typed.flags.emplace_back(flag, flag->value == Flag::Value::none ? "" : value);
    }
    return typed;
}

void translate(const Flag& flag, const std::string& value, Arguments& words) {
    if (value == flag.harmless && !flag.harmless.empty()) return;
    if (!flag.as.empty()) {
        words.emplace_back(flag.as);
        if (flag.value != Flag::Value::none) words.push_back(value);
    } else if (launcher().rank == 0) {
        fmt::print(stderr, "tutti: -{}{}{} is ignored: {}\n", flag.letter, value.empty() ? "" : " ",
                   value, flag.what);
    }
}

void add_candidates(const Typed& typed, Arguments& words) {
    const auto library = option_in(typed.others, "--baseline");
    if (!option_in(typed.others, "--algo"))
        words.insert(words.end(), {"--algo", library.value_or("none") != "none" ? "none" : "auto"});
    if (!library) words.insert(words.end(), {"--baseline", "none"});
}

std::string help_on(std::span<const Flag> known, const std::string& program,
                    std::string_view collective) {
    std::string text = fmt::format("usage: {} ...\n\n", program);
    for (const Flag& flag : known)
        text += fmt::format("  -{},--{:<22}  {}\n", flag.letter, flag.name, flag.what);
    return text + fmt::format(
                      "\nAlso accepts every option of 'tutti bench {}' with two hyphens, such as "
                      "--algo ring or --json FILE.\n",
                      collective);
}

Arguments bench_of(const ProgramName& program, const Arguments& others) {
    Arguments words{"bench", name_of(program.form)};
    std::istringstream options{std::string(program.options)};
    for (std::string name, value; options >> name >> value;)
        if (!option_in(others, name) && (name != "--blocks" || !option_in(others, "--counts-from")))
            words.insert(words.end(), {name, value});
    return words;
}

std::optional<Arguments> command_of(const std::string& program, const Arguments& words) {
    const auto suite =
        std::ranges::find_if(suites, [&](const SuiteOfPrograms& one) { return one.has(program); });
    if (suite == std::end(suites)) return words;
    const auto found = std::ranges::find(suite->programs, program, &ProgramName::name);
    if (found == suite->programs.end())
        throw Error(
            fmt::format("{} is not available, as tutti measures only collectives; use one of: {}; "
                        "or 'tutti limits' for latency and bandwidth between two ranks",
                        program, names_of_programs(*suite)));
    return suite->translate(*found, words);
}

}  // namespace tutti
