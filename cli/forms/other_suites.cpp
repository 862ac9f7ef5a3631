// SPDX-License-Identifier: Apache-2.0
#include "cli/forms/other_suites.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <vector>

#include "cli/options/run_plan.hpp"
#include "cli/ranks/launcher.hpp"

namespace tutti {

namespace {

const Flag* flag_called(std::span<const Flag> known, char letter) {
    const auto found = std::ranges::find(known, letter, &Flag::letter);
    return found == known.end() ? nullptr : &*found;
}

const Flag* flag_called(std::span<const Flag> known, std::string_view name) {
    if (name.size() == 1) return flag_called(known, name.front());
    const auto found = std::ranges::find(known, name, &Flag::name);
    return found == known.end() ? nullptr : &*found;
}

// Reads the words once, in order.
class FlagReader {
public:
    FlagReader(std::span<const Flag> known, const Arguments& words, const std::string& program)
        : known_(known), words_(words), program_(program) {}

    Typed read() {
        for (; at_ < words_.size(); ++at_) {
            const std::string& word = words_[at_];
            if (word.starts_with("--"))
                read_long(word);
            else if (word.size() > 1 && word.front() == '-')
                read_letters(std::string_view(word).substr(1));
            else
                typed_.others.push_back(word);
        }
        return std::move(typed_);
    }

private:
    void read_long(const std::string& word) {
        const std::size_t equals = word.find('=');
        const Flag* flag = flag_called(known_, std::string_view(word).substr(2, equals - 2));
        if (flag == nullptr)
            typed_.others.push_back(word);
        else if (equals != std::string::npos)
            typed_.flags.emplace_back(flag, word.substr(equals + 1));
        else
            typed_.flags.emplace_back(flag, value_behind(*flag, word));
    }

    // Reads "-b8", or "-fc" for flags without values.
    void read_letters(std::string_view letters) {
        while (!letters.empty()) {
            const char letter = letters.front();
            letters.remove_prefix(1);
            const Flag* flag = flag_called(known_, letter);
            if (flag == nullptr)
                throw Error(fmt::format("unknown option '-{}'; see '{} --help'", letter, program_));
            if (flag->value == Flag::Value::none) {
                typed_.flags.emplace_back(flag, "");
                continue;
            }
            typed_.flags.emplace_back(flag, letters.empty()
                                                ? value_behind(*flag, std::string("-") + letter)
                                                : std::string(letters));
            return;
        }
    }

    // Returns the next word.
    std::string value_behind(const Flag& flag, const std::string& word) {
        if (flag.value != Flag::Value::required) return "";
        if (at_ + 1 == words_.size())
            throw Error(fmt::format("{} needs a value; see '{} --help'", word, program_));
        return words_[++at_];
    }

    std::span<const Flag> known_;
    const Arguments& words_;
    const std::string& program_;
    std::size_t at_ = 0;
    Typed typed_;
};

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
     {{"all_reduce_perf", Collective::all_reduce},
      {"all_gather_perf", Collective::all_gather},
      {"reduce_scatter_perf", Collective::reduce_scatter},
      {"broadcast_perf", Collective::broadcast},
      {"reduce_perf", Collective::reduce},
      {"scatter_perf", Collective::scatter},
      {"gather_perf", Collective::gather},
      {"alltoall_perf", Collective::all_to_all}}},
    {"osu_",
     "",
     words_of_osu,
     {{"osu_allreduce", Collective::all_reduce},
      {"osu_allgather", Collective::all_gather},
      {"osu_reduce_scatter", Collective::reduce_scatter},
      {"osu_bcast", Collective::broadcast},
      {"osu_reduce", Collective::reduce},
      {"osu_scatter", Collective::scatter},
      {"osu_gather", Collective::gather},
      {"osu_alltoall", Collective::all_to_all}}},
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
    return FlagReader(known, words, program).read();
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
