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

/// A parent process that outlives the rank. The launcher starts the guardian; the rank is its
/// child. When the rank is killed, the guardian says so and ends with exit 5 (which ends the job).
/// When MPI takes too long to start or to end, or the rank is stopped for too long, it says so,
/// kills the rank and ends with exit 4.
/// When it gets SIGTERM or is killed itself, the rank goes with it. A further process, the
/// watchman, then removes the shared-memory files that MPI leaves behind, records the loss, and
/// ends a launcher that does not end after one.
class Guardian {
public:
    /// Forks; returns in the child only. Call before MPI starts and before any thread exists.
    /// Rank 0's guardian records a loss in `results_file` if that is not empty. From here on MPI
    /// has `start_limit` seconds until has_started(); after that the rank may be stopped for
    /// `stop_limit` seconds.
    Guardian(int rank, const std::string& results_file, double start_limit, double stop_limit);

    /// In the child, once all ranks have met.
    void has_started();

    /// In the child, before MPI_Finalize: announces that the process will end with this code within
    /// `limit` seconds.
    void is_ending(Exit code, double limit);

    /// Ends the rank at once, without finishing MPI: for errors, while others may be stuck.
    [[noreturn]] void leave(Exit code);

private:
    [[noreturn]] void guard(pid_t child, const LauncherProcess& launcher, const sigset_t& watched);
    bool is_late(MpiPhase phase, pid_t child);
    bool is_stopped_too_long(pid_t child);
    bool start_watchman(const LauncherProcess& launcher);
    void have_it_settled();

    int rank_;
    std::string results_file_;
    double start_limit_, stop_limit_;
    RankPage* page_ = nullptr;  // shared by all three processes
    pid_t watchman_ = -1;
    int orders_ = -1;  // to the watchman
    AwakeTime in_phase_;
    AwakeTime stopped_;
};

/// Names to the guardian, if there is one, the session to which a loss would belong; empty: none is
/// kept. The transports are there by now: their files of /dev/shm are removed with a lost rank.
void announce_session(const std::string& id);

/// Tells the guardian, if there is one, of a wait that this rank gives up and has no file to record
/// it in: the watchman does so where it can reach rank 0's file.
void announce_time_out(const std::string& what);

}  // namespace tutti
