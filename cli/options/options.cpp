// SPDX-License-Identifier: Apache-2.0
#include "cli/options/options.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <iostream>
#include <optional>
#include <regex>
#include <sstream>

#include "base/name_table.hpp"
#include "base/source.hpp"
#include "cli/ranks/launcher.hpp"

namespace tutti {
namespace {

// Returns the error for an unknown option; empty if all are known.
std::string unknown_option(const CLI::App& app) {
    for (const std::string& word : app.remaining()) {
        if (!word.starts_with('-')) continue;
        const std::string typed = word.substr(0, word.find('='));
        std::vector<std::string> names;
        for (const CLI::Option* option : app.get_options()) {
            for (const auto& name : option->get_lnames()) names.push_back("--" + name);
            for (const auto& name : option->get_snames()) names.push_back("-" + name);
        }
        // One-letter options have no useful suggestion.
        const auto guess = typed.starts_with("--") ? closest_name(typed, names) : std::nullopt;
        return "unknown option '" + typed + "'" +
               (guess ? "; did you mean '" + *guess + "'?" : std::string());
    }
    return {};
}

// Returns the width of help: that of the terminal if COLUMNS tells it, but room for an option and a
// few words.
std::size_t page_width() {
    constexpr std::size_t least = 60, most = 120;
    const char* columns = std::getenv("COLUMNS");
    const auto width = number_in<std::size_t>(columns != nullptr ? columns : "");
    return std::clamp(width.value_or(most), least, most);
}

// Rewrites a message of CLI11 like our own.
std::string own_message(std::string text) {
    std::replace(text.begin(), text.end(), '\n', ' ');
    static const std::pair<std::regex, const char*> rewritten[] = {
        {std::regex("(\\S+): Value (.*) not in range 1 to 1$"), "$1 $2 is not supported, only 1"},
        {std::regex("(\\S+): Value (.*) not in range (\\S+) to (\\S+)"),
         "$1 $2 is not a number from $3 to $4"},
        {std::regex("Could not convert: (\\S+) = (.*)"), "$1 $2 is not a number"},
        {std::regex("(\\S+): (.*) not in \\{(.*)\\}$"), "$1 $2 is unknown; use one of: $3"},
        {std::regex("(\\S+): At Most 1 required but received (\\d+)"),
         "$1 is given $2 times; use it once"},
        {std::regex("(\\S+) excludes (\\S+)"), "$1 and $2 exclude each other; use one of them"},
        {std::regex("(\\S+): 1 required \\S+ missing"), "$1 requires a value"},
        {std::regex("The following arguments? (?:was|were) not expected: (.*)"), "unexpected: $1"},
    };
    for (const auto& [theirs, ours] : rewritten) text = std::regex_replace(text, theirs, ours);
    return text;
}

}  // namespace

std::string fitted_to_page(const std::string& help, std::size_t column) {
    std::istringstream lines(help);
    std::string fitted;
    const std::size_t width = page_width();
    for (std::string line; std::getline(lines, line);) {
        const std::string indent(line.starts_with("  ") ? column : 0, ' ');
        while (line.size() > width) {
            const std::size_t blank = line.rfind(' ', width);
            if (blank == line.npos || blank <= indent.size()) break;  // one long word
            fitted += line.substr(0, blank) + '\n';
            line = indent + line.substr(blank + 1);
        }
        fitted += line + '\n';
    }
    return fitted;
}

void refuse_together(const CLI::App& app, const char* option,
                     std::initializer_list<const char*> ignored) {
    if (app.count(option) == 0) return;
    for (const char* other : ignored)
        if (app.count(other) > 0)
            throw Error(
                fmt::format("{} has no effect with {}; use only one of them", other, option));
}

bool parse_or_help(CLI::App& app, const Arguments& arguments) {
    if (asks_for_completion(arguments)) {
        print_candidates(app, arguments);
        return true;
    }
    std::vector<const char*> words{"tutti"};
    for (const auto& argument : arguments) words.push_back(argument.c_str());
    const std::string see_help = "; see '" + app.get_name() + " --help'";
    const auto print_help = [&app] {
        if (launcher().rank == 0) {
            const auto column = app.get_formatter()->get_column_width();
            std::cout << fitted_to_page(app.help(), column);
        }
        return true;
    };
    try {
        app.parse(static_cast<int>(words.size()), words.data());
        return false;
    } catch (const CLI::CallForHelp&) {
        return print_help();
    } catch (const CLI::RequiredError& error) {
        const CLI::Option* resume = app.get_option_no_throw("--resume");
        if (resume != nullptr && resume->count() > 0) {  // the file has the options
            if (const auto text = unknown_option(app); !text.empty()) throw Error(text + see_help);
            return false;
        }
        throw Error(error.what() + see_help);
    } catch (const CLI::ParseError& error) {
        std::string text =
            dynamic_cast<const CLI::ExtrasError*>(&error) ? unknown_option(app) : std::string();
        if (text.empty()) text = own_message(error.what());
        if (std::ranges::find(arguments, "-np") != arguments.end())
            text = "-np is an option of mpirun; use mpirun -np N tutti ..., or --ranks N";
        throw Error(text + see_help);
    } catch (const Error&) {  // an invalid value; unknown names are reported first
        if (app.get_help_ptr()->count() > 0) return print_help();
        if (const auto text = unknown_option(app); !text.empty()) throw Error(text + see_help);
        throw;
    }
}

}  // namespace tutti
