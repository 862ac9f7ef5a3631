// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <sys/types.h>

#include <csignal>
#include <string>

#include "base/error.hpp"

namespace tutti {

class LauncherProcess;

/// A parent process that outlives the rank. The launcher starts the guardian; the rank is its
/// child. When the rank is killed, the guardian says so and ends with exit 5 (which ends the job).
/// When it is told to end or is killed itself, the rank goes with it. A further process, the
/// watchman, then removes the shared-memory files that MPI leaves behind, records the loss, and
/// ends a launcher that does not end after one.
class Guardian {
public:
    /// Forks; returns in the child only. Call before MPI starts and before any thread exists.
    /// Rank 0's guardian records a loss in `results_file` if that is not empty.
    Guardian(int rank, const std::string& results_file);

    /// In the child, once MPI is connected: the files of /dev/shm that it has mapped.
    void remember_shared_files();

    /// Ends the rank at once, without finishing MPI: for errors, while others may be stuck.
    [[noreturn]] void leave(Exit code);

private:
    struct Page;
    [[noreturn]] void guard(pid_t child, int watchman_hears, int rank,
                            const LauncherProcess& launcher, const sigset_t& watched);
    void have_it_settled(int watchman_hears);
    [[noreturn]] void keep_watch(int hears, int rank, const std::string& results_file,
                                 const LauncherProcess& launcher);
    Page* page_ = nullptr;  // shared by all three processes
};

/// Tells the guardian, if there is one, which session a loss would belong to.
void announce_session(const std::string& id);

}  // namespace tutti
