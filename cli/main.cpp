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
#include "cli/forms/other_suites.hpp"
#include "cli/options/commands.hpp"
#include "cli/options/completion.hpp"
#include "cli/options/run_options.hpp"
#include "cli/provenance.hpp"
#include "cli/ranks/interruption.hpp"
#include "cli/ranks/launcher.hpp"

namespace tutti {
namespace {

// The ranks of a launcher that run a command.
enum class By { all_ranks, first_rank };

// A subcommand. `run` gets the arguments after its name; throws Error.
struct Command {
    std::string_view name;
    std::string_view what;
    Exit (*run)(const Arguments& arguments);
    By by = By::first_rank;
};

// The list of all commands.
constexpr Command rows[] = {
    {"aggressor", "Keep memory, cores or the network of this host busy, to disturb other programs",
     run_aggressor, By::all_ranks},
    {"bench", "Sweep message sizes over algorithms, transports and libraries (under mpirun)",
     run_bench, By::all_ranks},
    {"check-guidelines",
     "Check that no collective is slower than an equivalent combination of others",
     run_check_guidelines},
    {"ci-guard", "Build two commits of a project and compare them, with an exit code for CI",
     run_ci_guard},
    {"compare", "Compare A and B, with a verdict and an exit code for CI", run_compare},
    {"completion", "Print a completion script for bash, zsh or fish", run_completion},
    {"doctor",
     "Look for settings that make communication slow, and say what to change (under mpirun)",
     run_doctor, By::all_ranks},
    {"export", "Write a tuning table as the file of another library, such as Open MPI's rules",
     run_export, By::all_ranks},
    {"export-schedule", "Write a schedule for another library or simulator", run_export_schedule},
    {"history", "Show one metric over many launches and where it changed", run_history},
    {"limits", "Measure the limits of this machine (under mpirun)", run_limits, By::all_ranks},
    {"list", "List collectives, algorithms, transports, baselines and workloads of this build",
     run_list},
    {"report", "Create a page with plots and tables of results files", run_report},
    {"results", "Manage the records of many results files in one SQLite database", run_results},
    {"run", "Run an unmodified MPI program, with its collectives done by tutti if that is faster",
     run_program, By::all_ranks},
    {"show", "Describe a schedule and its cost, or print the tables of results files", run_show},
    {"topo", "Show this machine as a tree", run_topo, By::all_ranks},
    {"tune",
     "Find the best configuration for each collective and size, and write a tuning table (under "
     "mpirun)",
     run_tune, By::all_ranks},
    {"verify", "Prove that the schedules are correct", run_verify},
    {"workload", "Measure training steps with computing and communication (under mpirun)",
     run_workload, By::all_ranks},
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
    if (asks_for_completion(arguments)) {
        // 'tutti compare ... -- bench': completes the command after the dashes
        if (auto [own, other] = split_at_dashes(arguments); other) {
            if (!own.empty() && own[0] == "run") return Exit::ok;  // any program may follow
            arguments = std::move(*other);
        }
        if (completes_first_of(rows, arguments)) return Exit::ok;
    }
    const bool is_first = launcher().rank == 0;
    const bool is_help_alone = arguments == Arguments{"help"};
    if (arguments.empty() || arguments[0] == "--help" || arguments[0] == "-h" || is_help_alone) {
        if (is_first) print_help();
        return arguments.empty() ? Exit::usage : Exit::ok;
    }
    if (arguments[0] == "help") {  // 'tutti help bench': as 'tutti bench --help'
        arguments.erase(arguments.begin());
        arguments.emplace_back("--help");
    }
    if (arguments[0] == "--version" || arguments[0] == "-v" || arguments[0] == "-V") {
        if (is_first) std::cout << version_text();
        return Exit::ok;
    }
    // A copy, as GCC 14 warns about a reference.
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
        if (arguments) arguments = take_rank(*arguments);
        if (launcher().rank == 0) end_on_signals();  // one message for all ranks
        std::signal(SIGXFSZ, SIG_IGN);  // a file size limit is reported like a full disk
        const Exit code = arguments ? dispatch(std::move(*arguments)) : Exit::ok;
        finish_output();
        return static_cast<int>(code);
    } catch (const Error& error) {
        // Reports wrong arguments on one rank only. The others wait for it, as launchers end all
        // ranks once one has failed.
        if (error.code() != Exit::usage || launcher().rank == 0)
            std::cerr << "tutti: " << error.what() << std::endl;
        else
            std::this_thread::sleep_for(std::chrono::seconds(1));
        return static_cast<int>(error.code());
    } catch (const std::bad_alloc&) {
        std::cerr
            << "tutti: out of memory; allow more (ulimit -v), or use smaller sizes or fewer ranks"
            << std::endl;
        return static_cast<int>(Exit::usage);
    } catch (const std::exception& error) {
        std::cerr << "tutti: " << error.what() << std::endl;
        return static_cast<int>(Exit::usage);
    }
}
