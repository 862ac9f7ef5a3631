// SPDX-License-Identifier: Apache-2.0
#include "cli/options/completion.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/collective_form.hpp"
#include "base/name_table.hpp"
#include "cli/options/options.hpp"
#include "cli/options/values.hpp"
#include "collectives/algorithms/catalog.hpp"
#include "collectives/baselines/baselines.hpp"
#include "collectives/transport/table/transports.hpp"

namespace tutti {

namespace {

// Lists the algorithms of the collective on the command line, or of all.
Arguments algorithms(const Arguments& typed) {
    const auto is_typed = [&](Collective collective) {
        return std::ranges::any_of(typed, [&](const std::string& word) {
            return word == name_of(collective) || word == name_of(CollectiveForm{collective, true});
        });
    };
    const bool is_any = !std::ranges::any_of(all_collectives(), is_typed);
    Arguments names;
    for (const Algorithm& row : catalog())
        if (is_any || is_typed(row.collective)) names.emplace_back(row.name);
    return names;
}

template <class Row>
Arguments names_of_all(std::span<const Row> rows) {
    Arguments names;
    for (const Row& row : rows) {
        if constexpr (requires { row.name; })
            names.emplace_back(row.name);
        else
            names.emplace_back(name_of(row));
    }
    return names;
}

Arguments with(Arguments names, const Arguments& more) {
    names.insert(names.end(), more.begin(), more.end());
    return names;
}

// Lists values that come from tables. Options with a fixed set of words have it in their type.
Arguments rows_for(const CLI::Option& option, const Arguments& typed) {
    if (option.get_type_name() == "FILE") return {};
    const auto is = [&](const char* name) { return option.check_name(name); };
    if (is("--algo")) return with(algorithms(typed), {"all", "all+", "auto", "learn", "none"});
    if (is("--transport")) return with(names_of_all(transports()), {"all"});
    if (is("--baseline")) return with(names_of_all(baselines()), {"all", "none"});
    if (is("--datatype")) return with(names_of_all(all_data_types()), {"all"});
    if (is("--op")) return with(names_of_all(all_ops()), {"all"});
    if (is("--buffers")) return names_of(NamesOf<BufferKind>::rows);
    if (is("collective") || is("collectives")) return names_of_all(all_collective_forms());
    if (is("what"))
        return with(algorithms(typed), names_of_all(all_collective_forms()));  // argument of show
    return {};
}

Arguments words_for(const CLI::Option& option, const Arguments& typed) {
    const std::string type = option.get_type_name();  // "{no,yes}", "TEXT:{text,json}"
    const auto begin = type.find('{'), end = type.find('}');
    if (end == type.npos) return rows_for(option, typed);
    return split_list(type.substr(begin + 1, end - begin - 1));
}

void print_values(const CLI::Option& option, const Arguments& typed, const std::string& before) {
    const std::string& word = typed.back();
    const auto comma = word.rfind(',');
    const std::string list = comma == word.npos ? "" : word.substr(0, comma + 1);
    const Arguments words = words_for(option, typed);
    for (const std::string& value : std::set<std::string>(words.begin(), words.end()))
        if ((list + value).starts_with(word)) fmt::print("{}{}{}\n", before, list, value);
}

void print_options(const CLI::App& app, const std::string& word) {
    for (const CLI::Option* option : app.get_options()) {
        if (option->get_group().empty()) continue;  // hidden
        for (const std::string& name : option->get_lnames())
            if (("--" + name).starts_with(word))
                fmt::print("--{}\t{}\n", name, option->get_description());
    }
}

// Joins what bash splits: "--algo=ring" arrives as three words.
Arguments without_equals(Arguments words) {
    if (words.back() == "=") words.emplace_back();
    std::erase(words, "=");
    return words;
}

bool takes_value(const CLI::Option* option) {
    return option != nullptr && option->get_items_expected_max() > 0;
}

}  // namespace

void print_candidates(const CLI::App& app, Arguments arguments) {
    arguments.pop_back();
    arguments = without_equals(std::move(arguments));
    std::string& word = arguments.back();
    const auto option_called = [&](const std::string& name) {
        return name.starts_with('-') ? app.get_option_no_throw(name) : nullptr;
    };
    if (const auto equals = word.find('='); word.starts_with("--") && equals != word.npos) {
        const std::string before = word.substr(0, equals + 1);
        word.erase(0, before.size());
        if (const auto* option = option_called(before.substr(0, equals)); takes_value(option))
            print_values(*option, arguments, before);
    } else if (arguments.size() > 1 && takes_value(option_called(*(arguments.end() - 2)))) {
        print_values(*option_called(*(arguments.end() - 2)), arguments, "");
    } else if (word.starts_with('-')) {
        print_options(app, word);
    } else {
        for (const CLI::Option* option : app.get_options())
            if (option->get_positional()) print_values(*option, arguments, "");
    }
}

namespace {

struct Shell {
    std::string_view name;
    std::string_view what;
    std::string_view script;
};

// The scripts only ask the command being typed for candidates. Without candidates, files are
// offered.
constexpr Shell shells[] = {
    {"bash", "source <(tutti completion bash)", R"(_tutti() {
    local IFS=$'\n'
    COMPREPLY=($("$1" "${COMP_WORDS[@]:1:COMP_CWORD}" --complete-this 2>/dev/null | cut -f1))
}
complete -o default -F _tutti tutti
)"},
    {"zsh", "source <(tutti completion zsh)", R"(#compdef tutti
_tutti() {
    local -a found
    found=("${(@f)$($words[1] "${(@)words[2,CURRENT]}" --complete-this 2>/dev/null)}")
    found=("${(@)${(@)found//:/\\:}/$'\t'/:}")
    if [[ -n $found ]]; then _describe -V tutti found; else _files; fi
}
if [[ $funcstack[1] == _tutti ]]; then _tutti "$@"; else compdef _tutti tutti; fi
)"},
    {"fish", "tutti completion fish | source", R"(function __tutti_words
    set -l words (commandline -opc)
    set -l typed (commandline -ct)
    $words[1] $words[2..] "$typed" --complete-this 2>/dev/null
end
complete -c tutti -f -a '(__tutti_words)'
complete -c tutti -n 'not __tutti_words | string length -q' -F
)"},
};

}  // namespace

Exit run_completion(const Arguments& arguments) {
    if (completes_first_of(shells, arguments)) return Exit::ok;
    std::string shell, what =
                           "Prints a script that completes tutti's commands, options and values in "
                           "a shell. Load it with";
    for (const Shell& row : shells) what += fmt::format("\n  {:<6}{}", row.name, row.what);
    CLI::App app{what, "tutti completion"};
    app.add_option("shell", shell, "Shell: bash, zsh or fish")->required();
    if (parse_or_help(app, arguments)) return Exit::ok;
    fmt::print("{}", find_row(shells, "shell", shell).script);
    return Exit::ok;
}

}  // namespace tutti
