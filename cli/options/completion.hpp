// SPDX-License-Identifier: Apache-2.0
#pragma once
// What a shell may put in the place of the word that is being typed. The scripts of 'tutti
// completion' run the command as typed so far with a mark behind it, and are told a word a line,
// with what it means behind a tab.
#include <fmt/format.h>

#include <algorithm>
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

/// Behind them stands another command's line ('tutti compare A B -- bench'). Those that are being
/// typed are none yet.
inline Arguments::iterator two_dashes(Arguments& arguments) {
    const auto end = arguments.end() - (asks_for_completion(arguments) ? 2 : 0);
    const auto found = std::find(arguments.begin(), end, "--");
    return found == end ? arguments.end() : found;
}

/// Where the first word is being typed: prints the rows whose names begin so, and is true.
bool completes_first_of(const auto& rows, const Arguments& arguments) {
    if (!asks_for_completion(arguments) || arguments.size() != 2 || arguments[0].starts_with('-'))
        return false;
    for (const auto& row : rows)
        if (row.name.starts_with(arguments[0])) fmt::print("{}\t{}\n", row.name, row.what);
    return true;
}

/// Prints the options of a command, or the values of one where these are known.
void print_candidates(const CLI::App& app, Arguments arguments);

}  // namespace tutti
