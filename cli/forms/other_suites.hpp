// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/collective_form.hpp"
#include "cli/options/commands.hpp"

namespace tutti {

/// Returns the arguments of `tutti`: as typed, unless the program is called by a name of another
/// suite (all_reduce_perf, osu_allreduce); its flags are then translated to those of 'tutti bench'.
/// Returns nothing if help was printed. Throws Error for unknown flags.
std::optional<Arguments> command_of(const std::string& program, const Arguments& words);

/// A program of another suite that measures a collective.
struct ProgramName {
    std::string_view name;
    CollectiveForm form;
    std::string_view options = {};  ///< of 'tutti bench', unless others are given
};

/// Returns "bench COLLECTIVE" with the program's options.
Arguments bench_of(const ProgramName& program, const Arguments& others);

/// Returns 'bench COLLECTIVE ...'; nothing if help was printed.
using Translation = std::optional<Arguments> (*)(const ProgramName& program,
                                                 const Arguments& words);

// One file for each suite.
std::optional<Arguments> words_of_nccl_tests(const ProgramName& program, const Arguments& words);
std::optional<Arguments> words_of_osu(const ProgramName& program, const Arguments& words);

/// A flag of another suite's programs, as getopt_long reads it.
struct Flag {
    enum class Value { none, required, attached };  ///< attached: none, or -zVALUE

    char letter;
    std::string_view name;  ///< --name
    std::string_view what;  ///< for --help; for an ignored flag, what applies instead
    /// The corresponding option of 'tutti bench'; empty: handled by the suite's file.
    std::string_view as = {};
    /// A value without effect; without `as`, a message reports any other value as ignored.
    std::string_view harmless = {};
    Value value = Value::required;
};

/// The command line: flags in order with their values, and all other words, which are options of
/// 'tutti bench'.
struct Typed {
    std::vector<std::pair<const Flag*, std::string>> flags;
    Arguments others;
};

/// Reads flags. A letter after two hyphens is the flag, too (as in PARAM). Throws Error for unknown
/// letters and missing values; `program` is the name in the advice.
Typed read_flags(std::span<const Flag> known, const Arguments& words, const std::string& program);

/// Appends the flag to `words` as an option of 'tutti bench', or prints on stderr that it is
/// ignored.
void translate(const Flag& flag, const std::string& value, Arguments& words);

/// Appends the default candidates: the library's own choice, unless candidates are named.
void add_candidates(const Typed& typed, Arguments& words);

/// Returns the text of --help.
std::string help_on(std::span<const Flag> known, const std::string& program,
                    std::string_view collective);

}  // namespace tutti
