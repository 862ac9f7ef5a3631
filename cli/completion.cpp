// SPDX-License-Identifier: Apache-2.0

#include <fmt/format.h>

#include "base/name_table.hpp"
#include "cli/options/options.hpp"

namespace tutti {
namespace {

struct Shell {
    std::string_view name;
    std::string_view what;
    std::string_view script;
};

// They know nothing themselves: the command that is being typed tells what may follow. Where it
// knows nothing, files are offered.
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
    std::string shell, what = "Makes a shell complete tutti's commands, options and values. Type";
    for (const Shell& row : shells) what += fmt::format("\n  {:<6}{}", row.name, row.what);
    CLI::App app{what, "tutti completion"};
    app.add_option("shell", shell, "bash, zsh or fish")->required();
    if (parse_or_help(app, arguments)) return Exit::ok;
    fmt::print("{}", find_row(shells, "shell", shell).script);
    return Exit::ok;
}

}  // namespace tutti
