// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cli/options/commands.hpp"

namespace tutti {

/// A flag that another suite's programs take, as getopt_long reads it.
struct Flag {
    enum class Value { none, required, attached };  ///< attached: none, or -zVALUE

    char letter;
    std::string_view name;  ///< --name
    std::string_view what;  ///< for --help; of one that is ignored, what holds instead
    /// The option of 'tutti bench' that it becomes; empty: see whoever reads it.
    std::string_view as = {};
    /// A value that asks for nothing; any other is said to be ignored where there is no `as`.
    std::string_view harmless = {};
    Value value = Value::required;
};

/// What was typed: flags in their order, each with its value, and all other words, which are
/// options of 'tutti bench'.
struct Typed {
    std::vector<std::pair<const Flag*, std::string>> flags;
    Arguments others;

    /// Whether one of the other words is this option.
    bool has(std::string_view option) const;
    /// What stands behind it; empty if nothing does.
    std::string value_of(std::string_view option) const;
};

/// A letter behind two hyphens is the flag, too (as in PARAM). Throws Error for unknown letters and
/// missing values; `program` is who is asked for help.
Typed read_flags(std::span<const Flag> known, const Arguments& words, const std::string& program);

/// The flag as an option of 'tutti bench', behind `words`; or a line on stderr that says that it is
/// ignored.
void translate(const Flag& flag, const std::string& value, Arguments& words);

/// Who takes part: what the library would choose by itself, unless somebody is named.
void add_candidates(const Typed& typed, Arguments& words);

/// What --help prints.
std::string help_on(std::span<const Flag> known, const std::string& program,
                    std::string_view collective);

}  // namespace tutti
