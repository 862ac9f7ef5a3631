// SPDX-License-Identifier: Apache-2.0
#pragma once
// Helpers for commands that parse their arguments with CLI11. Included by their .cpp files only.
#include <CLI/CLI.hpp>
#include <initializer_list>
#include <string>
#include <utility>
#include <vector>

#include "cli/options/commands.hpp"
#include "cli/options/completion.hpp"
#include "cli/options/values.hpp"

namespace tutti {

/// Parses the arguments, or throws Error. Returns true if help or completions were requested and
/// printed: the command then has nothing to do.
bool parse_or_help(CLI::App& app, const Arguments& arguments);

/// Throws Error if `option` and one of `ignored` were given together, as the latter would have no
/// effect.
void refuse_together(const CLI::App& app, const char* option,
                     std::initializer_list<const char*> ignored);

/// Wraps lines of help at 120 characters, or at COLUMNS if that is less; the rest of an indented
/// line starts at `column`.
std::string fitted_to_page(const std::string& help, std::size_t column);

/// Adds options under one heading of --help, each bound to a variable. Defaults are shown by --help
/// and are part of plan_of().
class OptionGroup {
public:
    OptionGroup(CLI::App& app, std::string heading) : app_(app), heading_(std::move(heading)) {}

    /// Adds a text option. Its default is the content of `value`; none if that is empty.
    CLI::Option* text(const std::string& names, std::string& value, const std::string& what) const {
        auto* option = app_.add_option(names, value, what)->group(heading_);
        return value.empty() ? option : option->capture_default_str();
    }

    /// Adds an option that sets `value` to parse(text), first of the default. Without a default, an
    /// empty text is refused. `parse` throws Error.
    template <class Value, class Parse>
    CLI::Option* parsed(const std::string& names, Value& value, const std::string& default_text,
                        const Parse& parse, const std::string& what) const {
        const bool has_default = !default_text.empty();
        const auto set = [&value, parse, has_default, names](const std::string& typed) {
            // An empty value is mostly an unset variable of a script.
            if (!has_default && typed.empty()) throw Error(names + " requires a value");
            value = parse(typed);
        };
        if (has_default) set(default_text);
        auto* option = app_.add_option_function<std::string>(names, set, what)->group(heading_);
        if constexpr (requires { parse.names(","); })
            option->type_name("{" + parse.names(",") + "}");
        return has_default ? option->default_str(default_text) : option;
    }

    /// Adds a whole number from `least` to `most`. Its default is not shown unless
    /// capture_default_str() is called.
    template <class Number>
    CLI::Option* number(const std::string& names, Number& value, int least, int most,
                        const std::string& what) const {
        return app_.add_option(names, value, what)->group(heading_)->check(CLI::Range(least, most));
    }

    /// Adds a number of any value.
    template <class Number>
    CLI::Option* number(const std::string& names, Number& value, const std::string& what) const {
        return app_.add_option(names, value, what)->group(heading_);
    }

    /// Adds --seed, which is shown with its default.
    CLI::Option* seed(std::uint64_t& value, const std::string& what) const {
        return parsed("--seed", value, std::to_string(value), parse_seed, what)->type_name("UINT");
    }

    /// Adds an option that takes several words.
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
