// SPDX-License-Identifier: Apache-2.0
#include <dlfcn.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <string_view>

#include "autotune/table/table_json.hpp"
#include "base/library_file.hpp"
#include "base/source.hpp"
#include "cli/options/options.hpp"
#include "cli/options/run_plan.hpp"
#include "cli/ranks/launcher.hpp"
#include "library/mpi/settings.hpp"

namespace tutti {
namespace {

namespace fs = std::filesystem;

// Environment variables for the preloaded library.
using Variables = std::map<std::string, std::string>;

struct PreloadedLibrary {
    std::string_view file, missing;  // `missing` tells what to do if the file is missing
};
constexpr PreloadedLibrary of_mpi{"libtutti_mpi.so",
                                  "it needs an MPI library at build time: scripts/build"};
constexpr PreloadedLibrary of_abi{"libtutti_mpi_abi.so",
                                  "it needs mpicc_abi at build time (Open MPI 6, MPICH 5): "
                                  "scripts/build; if mpicc_abi compiled everything, omit --abi"};
constexpr PreloadedLibrary heap{"libtutti_heap.so", "run: scripts/build --target tutti_heap"};

// Returns the path of the library, or its name if the system finds it.
std::string found(const PreloadedLibrary& library) {
    const std::string name(library.file);
    if (const auto file = library_file(name)) return file->string();
    for (const std::string& each : library_names(name))
        if (dlopen(each.c_str(), RTLD_LAZY | RTLD_LOCAL) != nullptr) return each;
    throw Error(
        fmt::format("cannot find {} next to this command or in ../lib; {}", name, library.missing));
}

std::string preloads(bool for_abi, bool with_heap) {
    std::string all = found(for_abi ? of_abi : of_mpi);
    if (with_heap) all += ":" + found(heap);
    const char* const others = std::getenv("LD_PRELOAD");
    return others == nullptr || *others == '\0' ? all : all + ":" + others;
}

// Returns the file that execvp() starts, without links; empty if there is none.
fs::path executable_of(const std::string& word) {
    const char* const path = std::getenv("PATH");
    const std::string_view folders = word.find('/') != std::string::npos ? "."
                                     : path != nullptr                   ? path
                                                                         : "/bin:/usr/bin";
    for (const std::string_view folder : split(folders, ':')) {
        const fs::path file = fs::path(folder) / word;
        std::error_code missing;
        if (access(file.c_str(), X_OK) != 0 || fs::is_directory(file, missing)) continue;
        const fs::path real = fs::canonical(file, missing);
        if (!missing) return real;
    }
    return {};
}

bool is_launcher_of_open_mpi(const fs::path& launcher) {
    const std::string name = launcher.filename();
    std::error_code none;
    if (name == "mpirun") return fs::exists(launcher.parent_path() / "ompi_info", none);
    return name == "orterun" || name == "prte" || name == "prterun" || name == "mpirun.openmpi";
}

// Open MPI refuses -x if one of its files or variables has a list of variables for the ranks.
bool has_list_of_variables(const fs::path& launcher) {
    constexpr std::string_view list = "mca_base_env_list", file = "openmpi-mca-params.conf";
    const char* const home = std::getenv("HOME");
    for (const fs::path& settings :
         {fs::path(home != nullptr ? home : "") / ".openmpi" / "mca-params.conf",
          launcher.parent_path().parent_path() / "etc" / file, fs::path("/etc/openmpi") / file}) {
        std::ifstream in(settings);
        for (std::string line; std::getline(in, line);)
            if (line.find(list) != std::string::npos) return true;
    }
    return std::getenv("OMPI_MCA_mca_base_env_list") != nullptr;
}

// Whether the command sets variables itself, or starts several programs, each with its own: after
// colons or from a file.
bool has_own_variables(const Arguments& command) {
    return std::ranges::any_of(command, [](const std::string& word) {
        return word == ":" || word == "--app" || word == "-app" || word == "-configfile" ||
               word.find("LD_PRELOAD") != std::string::npos ||
               word.find("env_list") != std::string::npos;
    });
}

// Returns the options by which a launcher passes these variables to all its ranks, and to no other
// process; none if the command is no such launcher. With LD_PRELOAD in their environment, the
// launcher and its helpers would load the MPI library and UCX, too, which takes each of them 0.4 s
// (UCX 1.23).
Arguments options_for_ranks(const Arguments& command, const Variables& variables) {
    if (std::getenv("LD_PRELOAD") != nullptr || has_own_variables(command)) return {};
    const fs::path launcher = executable_of(command.front());
    const bool is_of_open_mpi = is_launcher_of_open_mpi(launcher);
    if (is_of_open_mpi ? has_list_of_variables(launcher) : launcher.filename() != "mpiexec.hydra")
        return {};
    Arguments options;
    for (const auto& [name, value] : variables)
        if (is_of_open_mpi)
            options.insert(options.end(), {"-x", name + "=" + value});
        else
            options.insert(options.end(), {"-genv", name, value});
    return options;
}

[[noreturn]] void replace_by(Arguments command) {
    std::signal(SIGXFSZ, SIG_DFL);  // the program gets the default action again
    std::vector<char*> words;
    for (std::string& word : command) words.push_back(word.data());
    words.push_back(nullptr);
    execvp(words[0], words.data());
    throw Error(fmt::format("cannot start '{}': {}; use the path of an existing program",
                            command.front(), std::strerror(errno)));
}

}  // namespace

Exit run_program(const Arguments& arguments) {
    const auto [words, program] = split_at_dashes(arguments);
    CLI::App app{
        "Runs an unmodified MPI program, and does its collectives with tutti if that is "
        "faster.\ntutti run [OPTIONS] -- mpirun -np 4 ./program",
        "tutti run"};
    std::string with = "learn", collectives;
    int block = 50, after = -1;
    bool table_anyway = false, always = false, for_abi = false, has_heap = false, reports = false,
         alternates = false;
    const OptionGroup options(app, "Options");
    const CLI::Option* chooser =
        options.text("--with", with,
                     "Implementation per call: learn (fastest measured at run time, including "
                     "MPI's), rules, TABLE (file of 'tutti tune'), or off");
    options.flag("--table-anyway", table_anyway,
                 "Use the table even if it was measured on another topology");
    options.flag("--always", always,
                 "Use tutti for all supported calls, also where the MPI library is faster");
    options.text("--collectives", collectives,
                 "Collectives that tutti may replace, a list such as all_reduce,broadcast,barrier "
                 "(default: all)");
    options.number("--after", after, 0, 1'000'000'000,
                   "Calls of a kind on a communicator that the MPI library does before tutti takes "
                   "over (default: 64)");
    options.flag(
        "--abi", for_abi,
        "Support a program built for MPI's standard ABI (mpicc_abi) instead of the library's own");
    options.flag("--heap", has_heap,
                 "Preload libtutti_heap.so, too: peers can access large allocations directly");
    options.flag("--report", reports,
                 "Report at the end how many calls were done by tutti and by the library, and the "
                 "time saved");
    options.flag(
        "--ab", alternates,
        "Alternate blocks of calls between the library and tutti, and report the difference");
    options.number("--block", block, 1, 1'000'000, "Calls per block of --ab")
        ->capture_default_str();
    const bool has_dash = !words.empty() && words.back().starts_with('-');
    if (!program && !asks_for_completion(words) && !words.empty() && !has_dash)
        throw Error(
            "the program needs two dashes before it, as in: tutti run -- mpirun -np 4 ./program");
    if (parse_or_help(app, words)) return Exit::ok;
    if (app.count("--block") > 0 && !alternates) throw Error("--block works only with --ab");
    if (!program || program->empty())
        throw Error("no program given; use: tutti run -- mpirun -np 4 ./program");

    Variables environment;
    if (chooser->count() > 0 || std::getenv("TUTTI") == nullptr) environment["TUTTI"] = with;
    if (!collectives.empty()) environment["TUTTI_COLLECTIVES"] = collectives;
    if (after >= 0) environment["TUTTI_AFTER"] = std::to_string(after);
    if (table_anyway) environment["TUTTI_TABLE_ANYWAY"] = "1";
    if (always) environment["TUTTI_ALWAYS"] = "1";
    // A launcher of several ranks starts this command for each. A single one may start the
    // launcher.
    environment["TUTTI_ON_ALL_HOSTS"] = launcher().size > 1 ? "1" : "0";
    if (reports || alternates) environment["TUTTI_REPORT"] = "1";
    if (alternates) environment["TUTTI_AB"] = std::to_string(block);
    const PreloadSettings settings = preload_settings([&](const char* name) -> const char* {
        const char* const others = std::getenv(name);
        if (others != nullptr) environment.try_emplace(name, others);
        const auto found = environment.find(name);
        return found == environment.end() ? nullptr : found->second.c_str();
    });
    if (settings.chooser == PreloadChoice::off && alternates)
        throw Error("--ab cannot be used with the choice off; use --with learn");
    if (settings.chooser == PreloadChoice::table && access(settings.table_file.c_str(), R_OK) != 0)
        throw Error(
            fmt::format("cannot read the table {}: {}", settings.table_file, std::strerror(errno)));
    if (settings.chooser == PreloadChoice::table) read_choices(settings.table_file);
    environment["LD_PRELOAD"] = preloads(for_abi, has_heap);
    const Arguments options_of_launcher = options_for_ranks(*program, environment);
    if (!options_of_launcher.empty()) environment.erase("LD_PRELOAD");
    for (const auto& [name, value] : environment) setenv(name.c_str(), value.c_str(), 1);
    Arguments command = *program;
    command.insert(command.begin() + 1, options_of_launcher.begin(), options_of_launcher.end());
    replace_by(command);
}

}  // namespace tutti
