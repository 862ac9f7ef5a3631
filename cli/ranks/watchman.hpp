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

/// The launcher's process that started this one: mpirun, or its daemon on a further host.
class LauncherProcess {
public:
    /// The parent, if it has the name of a launcher (there is no other sign); else there is none,
    /// and nothing happens below.
    LauncherProcess();

    bool is_there() const { return handle_ >= 0; }

    /// Its file descriptor; -1 if there is none.
    int handle() const { return handle_; }

    /// Whether it is still the parent of this process: whoever outlives it gets another.
    bool is_parent() const;

    /// For the end of a job that failed: waits until it has ended, or kills it after 10 s. A
    /// launcher whose network is gone would wait a quarter of an hour for hosts that cannot answer.
    void do_not_let_linger() const;

private:
    pid_t process_;
    int handle_ = -1;  // stays the same process even when its number is used again
};

/// How far a rank is with MPI.
enum class MpiPhase {
    starting,  ///< up to the end of the first exchange of all ranks
    running,
    ending,  ///< from MPI_Finalize on
    leaving  ///< the rank ends at once, and has said why
};

/// How a rank ended.
enum class Outcome {
    none,    ///< it lives, or was ended from outside
    good,    ///< nothing is to be done
    lost,    ///< by itself; its wait status says how
    late,    ///< MPI took too long to start or to end, or the rank was stopped for too long
    settled  ///< recorded and cleaned up after
};

/// The files of /dev/shm that a process has open or mapped, its peers' too, one path a line.
using SharedFiles = char[32 * 1024];

/// What rank, guardian and watchman share; plain memory, as each may die at any moment.
struct RankPage {
    SharedFiles files_at_start;  ///< written by the guardian
    SharedFiles files;           ///< written by the rank once MPI has started
    std::time_t began;           ///< of the job's files none is older
    std::atomic<pid_t> process;  ///< the rank; 0: it has been waited for
    char session[64];            ///< id of the session that its results file is about to get
    std::atomic<MpiPhase> phase;
    std::atomic<double> end_limit;  ///< seconds that the phase `ending` may take
    std::atomic<int> status;        ///< of the rank, as wait gives it
    std::atomic<Exit> own_code;     ///< the exit code that the rank has announced
    std::atomic<Outcome> outcome;
    char time_out[512];  ///< the wait that the rank gave up, as another one's file has no record
    char trouble[256];   ///< why a loss could not be recorded
    KeptText kept;       ///< what an interruption leaves, of rank 0
};

/// Those made by this user since then; other programs' segments may be mapped, too. Leaves `files`
/// as they are where none are found, as of a process that ends.
void list_shared_files(pid_t process, std::time_t since, SharedFiles& files);

/// Kills the rank, if it lives, once its files are in `files_at_start`.
void end_rank(RankPage& page);

/// By SIGSTOP, say.
bool is_stopped(pid_t process);

std::string host_name();

/// What the end of a rank by itself is recorded as; nothing for one that the rank has told of.
std::optional<Fail> loss_of(const RankPage& page);

/// The watchman: a process that outlives the guardian, whose launcher may kill it 2 ms after
/// its SIGTERM, which is too soon to clean up. In a session of its own, as the
/// launcher ends that of the rank; without the rank's pipes, as the launcher waits for their ends.
/// Waits for a byte from `orders`, or its end; then ends the rank, removes shared files, records
/// the loss in rank 0's results file, and ends a launcher that stays.
[[noreturn]] void keep_watch(RankPage& page, int orders, int rank, const std::string& results_file,
                             const LauncherProcess& launcher);

}  // namespace tutti
