// SPDX-License-Identifier: Apache-2.0
#pragma once
// Help for the commands that parse their arguments with CLI11; included by their .cpp files only.
#include <CLI/CLI.hpp>
#include <string>
#include <utility>
#include <vector>

#include "cli/options/commands.hpp"
#include "cli/options/completion.hpp"
#include "cli/options/values.hpp"
#include "results/records/launch.hpp"

namespace tutti {

/// Parses, or throws Error with one line that says what to type. True if help was asked for, or
/// what may be typed (completion.hpp), and printed: then there is nothing to do.
bool parse_or_help(CLI::App& app, const Arguments& arguments);

/// Lines of help of at most 120 characters: what is longer goes on below, in this column where the
/// line is indented.
std::string fitted_to_page(const std::string& help, std::size_t column);

/// Every option with its value as typed, defaults filled in.
TextByName understood(const CLI::App& app);

/// Options under one heading of --help, each bound to the variable that it sets. A default is shown
/// by --help and kept by understood().
class OptionGroup {
public:
    OptionGroup(CLI::App& app, std::string heading) : app_(app), heading_(std::move(heading)) {}

    /// A text; its default is what `value` holds, none if that is empty.
    CLI::Option* text(const std::string& names, std::string& value, const std::string& what) const {
        auto* option = app_.add_option(names, value, what)->group(heading_);
        return value.empty() ? option : option->capture_default_str();
    }

    /// `value` becomes parse(text), of the default first; without a default, an empty text is
    /// refused. `parse` throws Error, one line that says what to type instead.
    template <class Value, class Parse>
    CLI::Option* parsed(const std::string& names, Value& value, const std::string& default_text,
                        const Parse& parse, const std::string& what) const {
        const bool has_default = !default_text.empty();
        const auto set = [&value, parse, has_default, names](const std::string& typed) {
            // Mostly a variable of a script that is not set.
            if (!has_default && typed.empty())
                throw Error("nothing stands behind " + names + "; type a value, or leave it out");
            value = parse(typed);
        };
        if (has_default) set(default_text);
        auto* option = app_.add_option_function<std::string>(names, set, what)->group(heading_);
        if constexpr (requires { parse.names(","); })
            option->type_name("{" + parse.names(",") + "}");
        return has_default ? option->default_str(default_text) : option;
    }

    /// A whole number from `least` to `most`. Its default is not shown: see capture_default_str().
    template <class Number>
    CLI::Option* number(const std::string& names, Number& value, int least, int most,
                        const std::string& what) const {
        return app_.add_option(names, value, what)->group(heading_)->check(CLI::Range(least, most));
    }

    /// Any number.
    template <class Number>
    CLI::Option* number(const std::string& names, Number& value, const std::string& what) const {
        return app_.add_option(names, value, what)->group(heading_);
    }

    /// --seed, shown with its default.
    CLI::Option* seed(std::uint64_t& value, const std::string& what) const {
        return parsed("--seed", value, std::to_string(value), parse_seed, what)->type_name("UINT");
    }

    /// Several words behind the name.
    CLI::Option* list(const std::string& names, std::vector<std::string>& value,
                      const std::string& what) const {
        return app_.add_option(names, value, what)->group(heading_);
    }

    CLI::Option* flag(const std::string& names, bool& value, const std::string& what) const {
        return app_.add_flag(names, value, what)->group(heading_);
    }

    CLI::App& app() const { return app_; }
    const std::string& heading() const { return heading_; }

private:
    CLI::App& app_;
    std::string heading_;
};

}  // namespace tutti
