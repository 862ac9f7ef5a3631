// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <sys/types.h>

#include <atomic>
#include <ctime>
#include <optional>
#include <string>

#include "base/error.hpp"
#include "cli/ranks/interruption.hpp"
#include "results/records/record.hpp"

namespace tutti {

/// The launcher process that started this one: mpirun, or its daemon on another host.
class LauncherProcess {
public:
    /// Finds the parent, if it has the name of a launcher (there is no other sign). Otherwise there
    /// is no launcher, and the functions below do nothing.
    LauncherProcess();

    bool is_there() const { return handle_ >= 0; }

    /// Returns its file descriptor; -1 if there is none.
    int handle() const { return handle_; }

    /// Returns true while it is the parent of this process: an orphan gets another parent.
    bool is_parent() const;

    /// Waits until the launcher of a failed job has ended, or kills it after 10 s. A launcher
    /// without network would wait for 15 minutes for hosts that cannot respond.
    void kill_launcher() const;

private:
    pid_t process_;
    int handle_ = -1;  // identifies the process even when its number is used again
};

/// The MPI phase of a rank.
enum class MpiPhase {
    starting,  ///< until the first exchange of all ranks is complete
    running,
    ending,  ///< since MPI_Finalize
    leaving  ///< the rank ends at once and has reported the reason
};

/// How a rank ended.
enum class Outcome {
    none,    ///< it is alive, or was ended from outside
    good,    ///< nothing needs to be done
    lost,    ///< it ended by itself; its wait status tells how
    late,    ///< MPI took too long to start or end, or the rank was stopped for too long
    settled  ///< recorded and cleaned up
};

/// The files in /dev/shm that a process (or its peers) has open or mapped, one path per line.
using SharedFiles = char[32 * 1024];

/// Memory shared by rank, supervisor and cleaner. Plain data, as each of them may die at any
/// moment.
struct RankPage {
    SharedFiles files_at_start;  ///< written by the supervisor
    SharedFiles files;           ///< written by the rank once MPI has started
    std::time_t began;           ///< start of the job: its files are not older
    std::atomic<pid_t> process;  ///< the rank; 0: it has been reaped
    char session[64];            ///< id of the session in its results file
    std::atomic<MpiPhase> phase;
    std::atomic<double> end_limit;  ///< time limit of the phase `ending` in seconds
    std::atomic<int> status;        ///< wait status of the rank
    std::atomic<Exit> own_code;     ///< exit code announced by the rank
    std::atomic<Outcome> outcome;
    char time_out[512];  ///< a wait that the rank gave up and could not record
    char trouble[256];   ///< why a loss could not be recorded
    KeptText kept;       ///< what an interruption of rank 0 leaves
};

/// Lists the files of a process that this user created since `since`; segments of other programs
/// may be mapped, too. Leaves `files` unchanged if none are found, for example because the process
/// is ending.
void list_shared_files(pid_t process, std::time_t since, SharedFiles& files);

/// Lists the files of a living rank in `files_at_start`, then kills it.
void end_rank(RankPage& page);

/// Returns true for a process that is stopped, for example by SIGSTOP.
bool is_stopped(pid_t process);

std::string host_name();

/// Returns the record for a rank that ended by itself; nothing if the rank has recorded it.
std::optional<Fail> loss_of(const RankPage& page);

/// Runs the cleaner, a process that outlives the supervisor. A launcher may kill the supervisor 2
/// ms after SIGTERM, too soon to clean up. It has a session of its own, as the launcher ends that
/// of the rank; and no pipes of the rank, as the launcher waits until they close. It waits for a
/// byte from `orders`, or its end; then ends the rank, removes shared files, records the loss in
/// rank 0's results file, and ends a launcher that keeps running.
[[noreturn]] void run_cleaner(RankPage& page, int orders, int rank, const std::string& results_file,
                              const LauncherProcess& launcher);

}  // namespace tutti
