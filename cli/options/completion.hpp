// SPDX-License-Identifier: Apache-2.0
#pragma once
// Completion of command lines. The scripts of 'tutti completion' run the command as typed so far,
// followed by a mark, and get one candidate per line: the word, a tab, its description.
#include <fmt/format.h>

#include <string>
#include <string_view>

#include "cli/options/commands.hpp"

namespace CLI {
class App;
}

namespace tutti {

constexpr std::string_view completion_mark = "--complete-this";

inline bool asks_for_completion(const Arguments& arguments) {
    return arguments.size() > 1 && arguments.back() == completion_mark;
}

/// If the first word is being completed, prints the rows whose names match and returns true.
bool completes_first_of(const auto& rows, const Arguments& arguments) {
    if (!asks_for_completion(arguments) || arguments.size() != 2 || arguments[0].starts_with('-'))
        return false;
    for (const auto& row : rows)
        if (row.name.starts_with(arguments[0])) fmt::print("{}\t{}\n", row.name, row.what);
    return true;
}

/// Prints the options of a command, or the known values of the current one.
void print_candidates(const CLI::App& app, Arguments arguments);

}  // namespace tutti
