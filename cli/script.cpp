// SPDX-License-Identifier: Apache-2.0
#include "cli/script.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <limits>

#include "base/source.hpp"
#include "cli/build_info.hpp"
#include "cli/jobs/job.hpp"

namespace tutti {
namespace {

constexpr double no_limit = std::numeric_limits<double>::infinity();

// Prefers Debian's interpreter, which has matplotlib and numpy, unless TUTTI_PYTHON names another
// one.
const char* python() {
    const char* chosen = std::getenv("TUTTI_PYTHON");
    if (chosen != nullptr) return chosen;
    return access("/usr/bin/python3", X_OK) == 0 ? "/usr/bin/python3" : "python3";
}

// Scripts run this program again (as $TUTTI) to compute what they draw.
Command script_command(std::string_view name, const Arguments& words) {
    const auto script = scripts_folder() / name;
    if (!std::filesystem::exists(script))
        throw Error("the script is missing: " + script.string() +
                    "; set TUTTI_SCRIPTS to its folder");
    Command command{{script.string()}, {{"TUTTI", this_program()}}};
    if (script.extension() == ".py") command.words.insert(command.words.begin(), python());
    command.words.insert(command.words.end(), words.begin(), words.end());
    return command;
}

}  // namespace

Exit run_script(std::string_view name, const Arguments& words, CodeOne one) {
    Child child(script_command(name, words), Child::Output::inherited);
    const int code = child.wait(no_limit).value_or(0);
    const int signal = code - 128;        // the convention of shells
    if (signal > 0 && signal != SIGPIPE)  // `| head` is not an error
        throw Error(fmt::format(
            "{} was killed by signal {} ({}); run it again, on fewer files if memory was short",
            name, signal, strsignal(signal)));
    const Exit exit = signal > 0 ? Exit::usage : static_cast<Exit>(code);
    return exit == Exit::regression && one == CodeOne::failure ? Exit::usage : exit;
}

std::string printed_by_script(std::string_view name, const Arguments& words,
                              const std::string& input) {
    Command command = script_command(name, words);
    command.input = input;
    Child child(command);
    if (child.wait(no_limit) == 0) return child.output();
    const std::string message = child.last_words();
    throw Error(printable(message.substr(message.rfind('\n') + 1)));
}

std::string drawn(std::string_view kind, const std::string& json, const std::string& file) {
    const Arguments words{std::string(kind), std::filesystem::path(file).extension().string()};
    try {
        return printed_by_script("draw.py", words, json);
    } catch (const Error& error) {
        throw Error(fmt::format("cannot draw: {}", error.what()));
    }
}

}  // namespace tutti
