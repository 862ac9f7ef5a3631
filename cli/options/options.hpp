// SPDX-License-Identifier: Apache-2.0
#pragma once
// Help for the commands that parse their arguments with CLI11; included by their .cpp files only.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <iostream>
#include <optional>

#include "base/name_table.hpp"
#include "cli/options/commands.hpp"
#include "cli/ranks/launcher.hpp"
#include "results/launch.hpp"

namespace tutti {

/// The line for what the command has no option of.
inline std::string unknown_option(const CLI::App& app) {
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

/// Parses, or throws Error with one line that says what to type. True if help was asked for (and
/// printed): then there is nothing to do.
inline bool parse_or_help(CLI::App& app, const Arguments& arguments) {
    std::vector<const char*> words{"tutti"};
    for (const auto& argument : arguments) words.push_back(argument.c_str());
    try {
        app.parse(static_cast<int>(words.size()), words.data());
        return false;
    } catch (const CLI::CallForHelp&) {
        if (launcher().rank == 0) std::cout << app.help();
        return true;
    } catch (const CLI::ParseError& error) {
        std::string text =
            dynamic_cast<const CLI::ExtrasError*>(&error) ? unknown_option(app) : std::string();
        if (text.empty()) text = error.what();
        std::replace(text.begin(), text.end(), '\n', ' ');
        throw Error(text + "; see '" + app.get_name() + " --help'");
    }
}

/// Every option with its value, defaults filled in.
inline TextByName understood(const CLI::App& app) {
    TextByName options;
    for (const CLI::Option* option : app.get_options()) {
        const std::string name = option->get_single_name();
        if (name == "help") continue;
        std::string value;
        for (const auto& word : option->results()) value += (value.empty() ? "" : " ") + word;
        options[name] = option->count() > 0 ? value : option->get_default_str();
    }
    return options;
}

/// "a,b,c" as a list.
inline std::vector<std::string> split_list(const std::string& text) {
    std::vector<std::string> items;
    std::string item;
    std::istringstream stream(text);
    while (std::getline(stream, item, ',')) items.push_back(item);
    return items;
}

}  // namespace tutti
