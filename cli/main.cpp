// SPDX-License-Identifier: Apache-2.0
#include <chrono>
#include <csignal>
#include <filesystem>
#include <iostream>
#include <new>
#include <thread>

#include "base/name_table.hpp"
#include "base/output.hpp"
#include "cli/build_info.hpp"
#include "cli/forms/program_name.hpp"
#include "cli/options/commands.hpp"
#include "cli/options/completion.hpp"
#include "cli/provenance.hpp"
#include "cli/ranks/interruption.hpp"
#include "cli/ranks/launcher.hpp"
#include "cli/ranks/rendezvous_words.hpp"

namespace tutti {
namespace {

// Which of the ranks that a launcher has started do a command's work.
enum class By { all_ranks, first_rank };

// One subcommand. `run` gets the arguments behind its name; throws Error for what cannot be done.
struct Command {
    std::string_view name;
    std::string_view what;
    Exit (*run)(const Arguments& arguments);
    By by = By::first_rank;
};

// The one place where commands are listed.
constexpr Command rows[] = {
    {"bench", "under mpirun: sweep sizes over algorithms, transports and libraries", run_bench,
     By::all_ranks},
    {"check-guidelines", "whether collectives take longer than others that do the same",
     run_check_guidelines},
    {"compare", "A against B, with a verdict and an exit code for CI", run_compare},
    {"completion", "a script for bash, zsh or fish, which then complete what is typed",
     run_completion},
    {"history", "one metric over many launches, and where it changed", run_history},
    {"limits", "under mpirun: what this machine can do at its best", run_limits, By::all_ranks},
    {"list", "collectives, algorithms, transports, baselines, workloads of this build", run_list},
    {"report", "plots and tables of results files in one page", run_report},
    {"results", "the records of many results files in one SQLite database", run_results},
    {"run", "a program of MPI as it is, with its collectives done by tutti where that is faster",
     run_program, By::all_ranks},
    {"show", "a schedule in words, counted against the bounds; or what results files say",
     run_show},
    {"topo", "this machine as a tree", run_topo, By::all_ranks},
    {"tune",
     "under mpirun: find the best configuration for each collective and size, write a table",
     run_tune, By::all_ranks},
    {"verify", "prove the schedules", run_verify},
    {"workload", "under mpirun: training steps, computing and communicating", run_workload,
     By::all_ranks},
};

void print_help() {
    std::cout << "tutti " << version() << ": collective communication, measured and proved\n\n"
              << "usage: tutti COMMAND ...        (tutti COMMAND --help lists its options)\n\n";
    for (const Command& command : rows)
        std::cout << "  " << command.name << std::string(18 - command.name.size(), ' ')
                  << command.what << "\n";
    std::cout
        << "\nexample: mpirun -np 2 tutti bench all_reduce -b 8 -e 1M -f 4 --json out.jsonl\n";
}

Exit dispatch(Arguments arguments) {
    if (asks_for_completion(arguments)) {  // 'tutti compare ... -- bench': of the command behind it
        const auto dashes = two_dashes(arguments);
        if (dashes != arguments.end() && arguments[0] == "run") return Exit::ok;  // any program
        if (dashes != arguments.end()) arguments.erase(arguments.begin(), dashes + 1);
        if (completes_first_of(rows, arguments)) return Exit::ok;
    }
    const bool is_first = launcher().rank == 0;
    if (arguments.empty() || arguments[0] == "--help" || arguments[0] == "-h" ||
        arguments[0] == "help") {
        if (is_first) print_help();
        return arguments.empty() ? Exit::usage : Exit::ok;
    }
    if (arguments[0] == "--version") {
        if (is_first) std::cout << version_in_words();
        return Exit::ok;
    }
    // Copied: GCC 14 warns of a reference.
    const Command command = find_row(rows, "command", arguments[0]);
    if (command.by == By::first_rank && !is_first) return Exit::ok;
    arguments.erase(arguments.begin());
    return command.run(arguments);
}

}  // namespace
}  // namespace tutti

int main(int argc, char** argv) {
    using namespace tutti;
    try {
        auto arguments =
            command_of(std::filesystem::path(argv[0]).filename(), Arguments(argv + 1, argv + argc));
        if (arguments) take_rendezvous(*arguments);
        if (launcher().rank == 0) end_on_signals();  // one line for all ranks
        std::signal(SIGXFSZ, SIG_IGN);  // a limit of the size of files is told as a full disk is
        const Exit code = arguments ? dispatch(std::move(*arguments)) : Exit::ok;
        finish_output();
        return static_cast<int>(code);
    } catch (const Error& error) {
        // Of many ranks with the same wrong arguments one speaks. The others give it the time to do
        // so: launchers end all ranks once one has failed.
        if (error.code() != Exit::usage || launcher().rank == 0)
            std::cerr << "tutti: " << error.what() << std::endl;
        else
            std::this_thread::sleep_for(std::chrono::seconds(1));
        return static_cast<int>(error.code());
    } catch (const std::bad_alloc&) {
        std::cerr << "tutti: out of memory; allow more (ulimit -v), or ask for smaller sizes or "
                     "fewer ranks"
                  << std::endl;
        return static_cast<int>(Exit::usage);
    } catch (const std::exception& error) {
        std::cerr << "tutti: " << error.what() << std::endl;
        return static_cast<int>(Exit::usage);
    }
}
