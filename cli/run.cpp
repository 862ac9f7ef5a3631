// SPDX-License-Identifier: Apache-2.0
#include <dlfcn.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <map>
#include <string_view>

#include "autotune/table/table_json.hpp"
#include "base/library_file.hpp"
#include "cli/options/options.hpp"
#include "library/mpi/settings.hpp"

namespace tutti {
namespace {

// Of the environment, which the preloaded library reads.
using Variables = std::map<std::string, std::string>;

struct PreloadedLibrary {
    std::string_view file, missing;  // what to do where it is missing
};
constexpr PreloadedLibrary of_mpi{"libtutti_mpi.so",
                                  "it is built where an MPI library is found: scripts/build"};
constexpr PreloadedLibrary of_abi{"libtutti_mpi_abi.so",
                                  "it is built where mpicc_abi is found (Open MPI 6, MPICH 5): "
                                  "scripts/build; where mpicc_abi built all, leave --abi out"};
constexpr PreloadedLibrary heap{"libtutti_heap.so", "type: scripts/build --target tutti_heap"};

// Where it lies, or its name alone where the system finds it by that.
std::string found(const PreloadedLibrary& library) {
    const std::string name(library.file);
    if (const auto file = library_file(name)) return file->string();
    for (const std::string& each : library_names(name))
        if (dlopen(each.c_str(), RTLD_LAZY | RTLD_LOCAL) != nullptr) return each;
    throw Error(
        fmt::format("there is no {} beside this command or in ../lib; {}", name, library.missing));
}

std::string preloads(bool for_abi, bool with_heap) {
    std::string all = found(for_abi ? of_abi : of_mpi);
    if (with_heap) all += ":" + found(heap);
    const char* const others = std::getenv("LD_PRELOAD");
    return others == nullptr || *others == '\0' ? all : all + ":" + others;
}

[[noreturn]] void replace_by(Arguments& command) {
    std::signal(SIGXFSZ, SIG_DFL);  // what this command ignores, the program need not
    std::vector<char*> words;
    for (std::string& word : command) words.push_back(word.data());
    words.push_back(nullptr);
    execvp(words[0], words.data());
    throw Error(fmt::format("cannot start {}: {}", command.front(), std::strerror(errno)));
}

}  // namespace

Exit run_program(const Arguments& arguments) {
    Arguments words = arguments, command;
    if (const auto dashes = two_dashes(words); dashes != words.end()) {
        command.assign(dashes + 1, words.end());
        words.erase(dashes, words.end());
    }
    CLI::App app{
        "Runs a program of MPI as it is, and does its collectives by tutti where that is faster.\n"
        "tutti run [OPTIONS] -- mpirun -np 4 ./program",
        "tutti run"};
    std::string with = "learn", collectives, after, block = "50";
    bool table_anyway = false, always = false, for_abi = false, has_heap = false, reports = false,
         alternates = false;
    const OptionGroup options(app, "Options");
    const CLI::Option* chooser = options.text(
        "--with", with,
        "who does the calls: learn (whoever turns out to be faster while the program runs, the MPI "
        "library among them), rules, the file of a table of 'tutti tune', or off");
    options.flag("--table-anyway", table_anyway, "take a table of another topology");
    options.flag("--always", always,
                 "tutti does all calls that it can, also those that the library does faster");
    options.text("--collectives", collectives,
                 "which calls, a list such as all_reduce,broadcast,barrier; else all");
    options.text("--after", after,
                 "so many calls of a kind on a communicator are the library's before tutti takes "
                 "over; else 64");
    options.flag("--abi", for_abi,
                 "the program is built for MPI's standard ABI (mpicc_abi), not for the library's "
                 "own");
    options.flag("--heap", has_heap,
                 "preload libtutti_heap.so, too: large allocations lie where peers reach them");
    options.flag("--report", reports, "at the end, say who did how many calls, and what that won");
    options.flag("--ab", alternates,
                 "blocks of calls go to the library and to tutti by turns; say what the difference "
                 "is");
    options.text("--block", block, "calls of such a block");
    if (parse_or_help(app, words)) return Exit::ok;
    if (command.empty()) throw Error("nothing to run; type: tutti run -- mpirun -np 4 ./program");

    Variables environment;
    if (chooser->count() > 0 || std::getenv("TUTTI") == nullptr) environment["TUTTI"] = with;
    if (!collectives.empty()) environment["TUTTI_COLLECTIVES"] = collectives;
    if (!after.empty()) environment["TUTTI_AFTER"] = after;
    if (table_anyway) environment["TUTTI_TABLE_ANYWAY"] = "1";
    if (always) environment["TUTTI_ALWAYS"] = "1";
    if (reports || alternates) environment["TUTTI_REPORT"] = "1";
    if (alternates) environment["TUTTI_AB"] = block;
    const PreloadSettings settings = preload_settings([&](const char* name) -> const char* {
        const auto ours = environment.find(name);
        return ours == environment.end() ? std::getenv(name) : ours->second.c_str();
    });
    if (settings.chooser == PreloadChoice::table && access(settings.table_file.c_str(), R_OK) != 0)
        throw Error(
            fmt::format("cannot read the table {}: {}", settings.table_file, std::strerror(errno)));
    if (settings.chooser == PreloadChoice::table) read_choices(settings.table_file);
    environment["LD_PRELOAD"] = preloads(for_abi, has_heap);
    for (const auto& [name, value] : environment) setenv(name.c_str(), value.c_str(), 1);
    replace_by(command);
}

}  // namespace tutti
