// SPDX-License-Identifier: Apache-2.0
#include "cli/ranks/launcher.hpp"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <iostream>
#include <mutex>
#include <thread>

#include "base/index.hpp"
#include "cli/ranks/guardian.hpp"
#include "cli/ranks/rendezvous_words.hpp"
#include "cli/ranks/watchdog.hpp"
#include "collectives/transport/messages/mpi.hpp"
#include "topology/detect/host_facts.hpp"

namespace tutti {
namespace {

// Loading libraries from a slow disk takes longer than ranks should wait for each other later.
constexpr double least_start_seconds = 30;
constexpr double seconds_for_others = 3;  // to say first what they wait for

struct Trace {
    const char* name;
    const char* rank;
    const char* size;
};

// Variables that launchers set for each rank, and only for ranks. MPICH's and Intel's Hydra and
// Slurm's PMI share PMI_*; a Slurm allocation without srun has no SLURM_STEP_ID in it.
constexpr Trace traces[] = {
    {"Open MPI's mpirun", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"},
    {"mpiexec (PMI)", "PMI_RANK", "PMI_SIZE"},
    {"srun", "SLURM_PROCID", "SLURM_STEP_NUM_TASKS"},
};

int number_of(const char* variable) {
    const char* text = std::getenv(variable);
    return text == nullptr ? -1 : std::atoi(text);
}

void refuse_foreign_mpi(const Launcher& started_by, int size_of_mpi) {
    if (started_by.size == size_of_mpi) return;
    throw Error(
        started_by.name + " started " + std::to_string(started_by.size) + " processes, but " +
        mpi_library() + " sees " + std::to_string(size_of_mpi) +
        ": tutti is linked to another MPI; start it with that library's own mpirun, or build "
        "with the one you start with");
}

// In one piece: several ranks fail at the same time, and their lines would mix.
void print_error(const std::string& line) { std::cerr << line + "\n" << std::flush; }

// A rank process. What fails here ends the whole job, without MPI_Finalize, since others may hang.
// So the session is not yet over where errors are caught.
Exit run_as_mpi_rank(const Launcher& started_by, const RankOptions& options, Guardian& guardian,
                     const std::function<Exit(World&)>& body) {
    std::optional<MpiSession> session;
    std::optional<Watchdog> watchdog;
    try {
        World& world = session.emplace().world();
        world.hang_timeout = options.hang_timeout;
        refuse_foreign_mpi(started_by, world.size());
        world.barrier();
        guardian.has_started();
        watchdog.emplace(world);
        const Exit code = body(world);
        watchdog.reset();
        guardian.is_ending(code, seconds_in_library(world.hang_timeout));
        session.reset();
        return code;
    } catch (const Error& error) {
        // An error that all ranks have is reported by one: its end takes the others along while
        // they wait.
        const bool may_be_same_for_all = error.code() == Exit::usage && started_by.rank != 0;
        if (may_be_same_for_all) std::this_thread::sleep_for(std::chrono::seconds(4));
        print_error("tutti: " + std::string(error.what()));
        guardian.leave(error.code());
    } catch (const std::exception& error) {  // out of memory, say
        print_error("tutti: rank " + std::to_string(started_by.rank) + ": " + error.what());
        guardian.leave(Exit::usage);
    }
}

double start_timeout_of(const RankOptions& options) {
    return options.start_timeout.value_or(std::max(options.hang_timeout, least_start_seconds));
}

// A rank process that nobody guards: the others miss its connection when it ends.
Exit run_as_rank_of_rendezvous(Rendezvous rendezvous, const RankOptions& options,
                               const std::function<Exit(World&)>& body) {
    rendezvous.deadline = start_timeout_of(options);
    std::unique_ptr<World> world;
    try {
        world = rendezvous_world(rendezvous);
    } catch (const Error& error) {  // of this rank alone, whichever it is
        print_error("tutti: " + std::string(error.what()));
        return error.code();
    }
    world->hang_timeout = options.hang_timeout;
    const Watchdog watchdog(*world);
    const Exit code = body(*world);
    world->barrier();
    return code;
}

// The libraries of the ranks crash where they get no memory. A thread has a stack, a heap of
// malloc's and the segments of the transports.
void refuse_too_little_address_space(int ranks_of_this_process) {
    const std::string user = ranks_of_this_process == 1
                                 ? "a rank"
                                 : "a run of " + std::to_string(ranks_of_this_process) + " ranks";
    if (const std::string missing =
            missing_address_space(128 + 64 * as_size(ranks_of_this_process), user);
        !missing.empty())
        throw Error(missing);
}

}  // namespace

Launcher launcher() {
    if (const auto& rendezvous = rendezvous_of_process())
        return {"--rendezvous", rendezvous->rank, rendezvous->size};
    for (const Trace& trace : traces) {
        const int rank = number_of(trace.rank), size = number_of(trace.size);
        if (rank >= 0 && size >= 1) return {trace.name, rank, size};
    }
    return {};
}

Exit run_ranks(const RankOptions& options, const std::function<Exit(World&)>& body) {
    refuse_too_little_address_space(options.threads.value_or(1));
    const Launcher started_by = launcher();
    if (started_by.is_there()) {
        if (options.threads)
            throw Error("--ranks makes threads, but " + started_by.name + " has started " +
                        std::to_string(started_by.size) + " processes; leave one of the two out");
        if (const auto& rendezvous = rendezvous_of_process())
            return run_as_rank_of_rendezvous(*rendezvous, options, body);
        if (const auto missing = mpi_missing(); missing && started_by.size > 1)
            throw Error(started_by.name + " started " + std::to_string(started_by.size) +
                        " processes, but " + *missing + "; or run without mpirun, with --ranks " +
                        std::to_string(started_by.size));
        else if (!missing) {
            Guardian guardian(started_by.rank, options.results_file, start_timeout_of(options),
                              std::max(options.hang_timeout + seconds_for_others, 6.0));
            return run_as_mpi_rank(started_by, options, guardian, body);
        }
    }
    Exit worst = Exit::ok;
    std::mutex mutex;
    run_as_threads(options.threads.value_or(1), options.hang_timeout, [&](World& world) {
        const Exit code = body(world);
        const std::lock_guard lock(mutex);
        worst = std::max(worst, code);
    });
    return worst;
}

}  // namespace tutti
