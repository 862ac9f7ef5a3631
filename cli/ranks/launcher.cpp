// SPDX-License-Identifier: Apache-2.0
#include "cli/ranks/launcher.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <iostream>
#include <mutex>
#include <thread>

#include "base/clock.hpp"
#include "base/index.hpp"
#include "cli/ranks/supervisor.hpp"
#include "collectives/transport/messages/mpi.hpp"
#include "collectives/world/backoff.hpp"
#include "collectives/world/rendezvous/rendezvous.hpp"
#include "collectives/world/world.hpp"
#include "topology/detect/host_facts.hpp"

namespace tutti {
namespace {

// Returns how long a library call may take: longer than the time limits of tutti's own waits, whose
// messages say more.
double seconds_in_library(double hang_timeout) { return hang_timeout * barrier_timeout_factor + 2; }

// Ends the process (exit 4) if its rank has no contact with others for much longer than the hang
// timeout. It is the last resort for library calls, which have no time limit of their own.
class HangTimeout {
public:
    explicit HangTimeout(World& world) : world_(world), thread_([this] { watch(); }) {}
    ~HangTimeout() {
        {
            const std::lock_guard lock(mutex_);
            over_ = true;
        }
        ended_.notify_all();
        thread_.join();
    }

private:
    void watch() {
        AwakeTime since_change;
        long last_seen = world_.heartbeats;
        std::unique_lock lock(mutex_);
        while (!ended_.wait_for(lock, std::chrono::milliseconds(200), [this] { return over_; })) {
            // A workload may change the limit.
            const double limit = seconds_in_library(std::atomic_ref(world_.hang_timeout).load());
            if (const long seen = world_.heartbeats; seen != last_seen) {
                last_seen = seen;
                since_change = {};
            }
            if (since_change.look_seconds() > limit) end(limit);
        }
    }

    [[noreturn]] void end(double limit) const {
        const std::string what =
            fmt::format("rank {} has been inside a library call for {:.0f} s{}",
                        world_.rank().index, limit, in_activity());
        announce_time_out(what);
        fmt::print(stderr, "tutti: {}\n", what);
        _exit(static_cast<int>(Exit::time_out));
    }

    World& world_;
    std::mutex mutex_;
    std::condition_variable ended_;
    bool over_ = false;
    std::thread thread_;
};

// Loading libraries from a slow disk takes longer than ranks should wait for each other later.
constexpr double least_start_seconds = 30;
constexpr double seconds_for_others = 3;  // for other ranks to report first what they wait for

std::optional<Rendezvous> rendezvous_of_process;

struct Trace {
    const char* name;
    const char* rank;
    const char* size;
};

// Variables that launchers set for each rank, and only for ranks. Hydra of MPICH and Intel and the
// PMI of Slurm share PMI_*. A Slurm allocation without srun sets SLURM_PROCID, but no
// SLURM_STEP_NUM_TASKS.
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
    throw Error(started_by.name + " started " + std::to_string(started_by.size) +
                " processes, but " + mpi_library() + " sees " + std::to_string(size_of_mpi) +
                ": tutti is linked to another MPI; use that library's own mpirun, or build tutti "
                "with the MPI of this launcher");
}

// Prints a line at once: several ranks fail at the same time, and their lines would mix.
void print_error(const std::string& line) { std::cerr << line + "\n" << std::flush; }

// Runs a rank process. A failure ends the whole job without MPI_Finalize, as other ranks may hang.
// So the session still exists where errors are caught.
Exit run_as_mpi_rank(const Launcher& started_by, const RankOptions& options, Supervisor& supervisor,
                     const std::function<Exit(World&)>& body) {
    std::optional<MpiSession> session;
    std::optional<HangTimeout> hang_timeout;
    try {
        World& world = session.emplace().world();
        world.hang_timeout = options.hang_timeout;
        refuse_foreign_mpi(started_by, world.size());
        world.barrier();
        supervisor.has_started();
        hang_timeout.emplace(world);
        const Exit code = body(world);
        hang_timeout.reset();
        supervisor.is_ending(code, seconds_in_library(world.hang_timeout));
        session.reset();
        return code;
    } catch (const Error& error) {
        // An error that all ranks have in common is reported by rank 0, whose end ends the others
        // while they wait.
        const bool may_be_same_for_all = error.code() == Exit::usage && started_by.rank != 0;
        if (may_be_same_for_all) std::this_thread::sleep_for(std::chrono::seconds(4));
        print_error("tutti: " + std::string(error.what()));
        supervisor.leave(error.code());
    } catch (const std::exception& error) {  // for example out of memory
        print_error("tutti: rank " + std::to_string(started_by.rank) + ": " + error.what());
        supervisor.leave(Exit::usage);
    }
}

double start_timeout_of(const RankOptions& options) {
    return options.start_timeout.value_or(std::max(options.hang_timeout, least_start_seconds));
}

// Runs a rank process without a supervisor: the other ranks notice when its connection closes.
Exit run_as_rank_of_rendezvous(Rendezvous rendezvous, const RankOptions& options,
                               const std::function<Exit(World&)>& body) {
    rendezvous.deadline = start_timeout_of(options);
    std::unique_ptr<World> world;
    try {
        world = rendezvous_world(rendezvous);
    } catch (const Error& error) {  // may concern only this rank
        print_error("tutti: " + std::string(error.what()));
        return error.code();
    }
    world->hang_timeout = options.hang_timeout;
    const HangTimeout hang_timeout(*world);
    const Exit code = body(*world);
    world->barrier();
    return code;
}

// Refuses to start with too little address space, as libraries of the ranks would crash. A thread
// needs a stack, a malloc heap and the segments of the transports.
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

void join_rendezvous(const Rendezvous& rendezvous) { rendezvous_of_process = rendezvous; }

Launcher launcher() {
    if (const auto& rendezvous = rendezvous_of_process)
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
            throw Error("--ranks cannot be used under a launcher: " + started_by.name +
                        " has started " + std::to_string(started_by.size) + " processes");
        if (const auto& rendezvous = rendezvous_of_process)
            return run_as_rank_of_rendezvous(*rendezvous, options, body);
        if (const auto missing = mpi_missing(); missing && started_by.size > 1)
            throw Error(started_by.name + " started " + std::to_string(started_by.size) +
                        " processes, but " + *missing + "; or run without mpirun, with --ranks " +
                        std::to_string(started_by.size));
        else if (!missing) {
            Supervisor supervisor(started_by.rank, options.results_file, start_timeout_of(options),
                                  std::max(options.hang_timeout + seconds_for_others, 6.0));
            return run_as_mpi_rank(started_by, options, supervisor, body);
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
