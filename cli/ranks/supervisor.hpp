// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <sys/types.h>

#include <csignal>
#include <string>

#include "base/clock.hpp"
#include "base/error.hpp"

namespace tutti {

class LauncherProcess;
enum class MpiPhase;
struct RankPage;

/// A parent process that outlives the rank. The launcher starts the supervisor; the rank is its
/// child. If the rank is killed, the supervisor reports it and exits with 5 (which ends the job).
/// If MPI takes too long to start or end, or the rank is stopped for too long, the supervisor
/// reports it, kills the rank and exits with 4. If the supervisor gets SIGTERM or is killed, the
/// rank is ended as well. Another process, the cleaner, then removes the shared-memory files that
/// MPI leaves, records the loss, and ends a launcher that keeps running.
class Supervisor {
public:
    /// Forks and returns only in the child. Call before MPI starts and before any thread exists.
    /// Rank 0's supervisor records a loss in `results_file` if that is not empty. MPI then has
    /// `start_limit` seconds until has_started(); after that the rank may be stopped for
    /// `stop_limit` seconds.
    Supervisor(int rank, const std::string& results_file, double start_limit, double stop_limit);

    /// Call in the child once all ranks are connected.
    void has_started();

    /// Call in the child before MPI_Finalize: announces that the process will end with this code
    /// within `limit` seconds.
    void is_ending(Exit code, double limit);

    /// Ends the rank at once, without MPI_Finalize: for errors, when other ranks may be stuck.
    [[noreturn]] void leave(Exit code);

private:
    [[noreturn]] void guard(pid_t child, const LauncherProcess& launcher, const sigset_t& watched);
    bool is_late(MpiPhase phase, pid_t child);
    bool is_stopped_too_long(pid_t child);
    bool start_cleaner(const LauncherProcess& launcher);
    void finish_cleanup();

    int rank_;
    std::string results_file_;
    double start_limit_, stop_limit_;
    RankPage* page_ = nullptr;  // shared by all three processes
    pid_t cleaner_ = -1;
    int orders_ = -1;  // pipe to the cleaner
    AwakeTime in_phase_;
    AwakeTime stopped_;
};

/// Tells the supervisor, if there is one, the session of the records; empty: none. A loss then
/// belongs to this session. Call when the transports exist: their files in /dev/shm are removed if
/// the rank is lost.
void announce_session(const std::string& id);

/// Tells the supervisor, if there is one, about a wait that this rank gave up and cannot record.
/// The cleaner records it if it can reach rank 0's file.
void announce_time_out(const std::string& what);

}  // namespace tutti
