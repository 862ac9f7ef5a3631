// SPDX-License-Identifier: Apache-2.0
#include "cli/options/options.hpp"

#include <algorithm>
#include <iostream>
#include <optional>
#include <sstream>

#include "base/name_table.hpp"
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

constexpr std::size_t page_width = 120;

}  // namespace

std::string fitted_to_page(const std::string& help, std::size_t column) {
    std::istringstream lines(help);
    std::string fitted;
    for (std::string line; std::getline(lines, line);) {
        const std::string indent(line.starts_with("  ") ? column : 0, ' ');
        while (line.size() > page_width) {
            const std::size_t blank = line.rfind(' ', page_width);
            if (blank == line.npos || blank <= indent.size()) break;  // one long word
            fitted += line.substr(0, blank) + '\n';
            line = indent + line.substr(blank + 1);
        }
        fitted += line + '\n';
    }
    return fitted;
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
        if (text.empty()) text = error.what();
        std::replace(text.begin(), text.end(), '\n', ' ');
        throw Error(text + see_help);
    } catch (const Error&) {  // an invalid value; unknown names are reported first
        if (app.get_help_ptr()->count() > 0) return print_help();
        if (const auto text = unknown_option(app); !text.empty()) throw Error(text + see_help);
        throw;
    }
}

}  // namespace tutti
