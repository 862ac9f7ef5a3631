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

// The line for an option that the command does not have; empty if all are known.
std::string unknown_option(const CLI::App& app) {
    for (const std::string& word : app.remaining()) {
        if (!word.starts_with('-')) continue;
        const std::string typed = word.substr(0, word.find('='));
        std::vector<std::string> names;
        for (const CLI::Option* option : app.get_options()) {
            for (const auto& name : option->get_lnames()) names.push_back("--" + name);
            for (const auto& name : option->get_snames()) names.push_back("-" + name);
        }
        // A single letter is a letter away from any other.
        const auto guess = typed.starts_with("--") ? closest_name(typed, names) : std::nullopt;
        return "unknown option '" + typed + "'" +
               (guess ? "; did you mean '" + *guess + "'?" : std::string());
    }
    return {};
}

constexpr std::size_t page_width = 120;

}  // namespace

bool names_option(std::string_view word, std::span<const std::string_view> options) {
    return std::ranges::any_of(options, [&](std::string_view name) {
        const bool may_hold_value = !name.starts_with("--");  // as in -JFILE
        return word.starts_with(name) &&
               (word.size() == name.size() || word[name.size()] == '=' || may_hold_value);
    });
}

Arguments without_options(const Arguments& words, std::span<const std::string_view> options) {
    Arguments left;
    for (std::size_t i = 0; i < words.size(); ++i) {
        if (!names_option(words[i], options))
            left.push_back(words[i]);
        else if (std::ranges::find(options, words[i]) != options.end())
            ++i;  // its value, too, which is the next word
    }
    return left;
}

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
    } catch (const CLI::ParseError& error) {
        std::string text =
            dynamic_cast<const CLI::ExtrasError*>(&error) ? unknown_option(app) : std::string();
        if (text.empty()) text = error.what();
        std::replace(text.begin(), text.end(), '\n', ' ');
        throw Error(text + see_help);
    } catch (const Error&) {  // of a value; what is said of names comes first
        if (app.get_help_ptr()->count() > 0) return print_help();
        if (const auto text = unknown_option(app); !text.empty()) throw Error(text + see_help);
        throw;
    }
}

TextByName understood(const CLI::App& app) {
    TextByName options;
    for (const CLI::Option* option : app.get_options()) {
        const std::string name = option->get_single_name();
        // Which rank this is, or where ranks meet, is not what is measured.
        if (name == "help" || name == "rendezvous" || name == "rank" || name == "size") continue;
        std::string value;
        for (const auto& word : option->results()) value += (value.empty() ? "" : " ") + word;
        options[name] = option->count() > 0 ? value : option->get_default_str();
    }
    return options;
}

}  // namespace tutti
