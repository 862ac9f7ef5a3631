// SPDX-License-Identifier: Apache-2.0
#include "cli/ranks/guardian.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <iostream>
#include <utility>

#include "base/clock.hpp"
#include "cli/ranks/watchman.hpp"

namespace tutti {
namespace {

// Where the rank says which session it writes; null before there is a guardian.
RankPage* page_of_process = nullptr;

// The rank came to its end, and what went wrong before has been told and recorded.
bool is_good_end(const RankPage& page) {
    if (!WIFEXITED(page.status) || loss_of(page)) return false;
    const Exit code{WEXITSTATUS(page.status)};
    return code != Exit::time_out && code != Exit::rank_lost;
}

// "rank 1 (process 4711 on node3)"
std::string name_of(int rank, pid_t process) {
    return "rank " + std::to_string(rank) + " (process " + std::to_string(process) + " on " +
           host_name() + ")";
}

// Says why a rank is lost; returns the exit code for it.
int report_end(const RankPage& page, int rank, pid_t pid) {
    const auto loss = loss_of(page);
    if (!loss || loss->what == "timeout") return WEXITSTATUS(page.status);  // it has spoken
    const std::string code = " with code " + std::to_string(loss->code);
    const std::string how =
        loss->signal != 0 ? "was killed by signal " + std::to_string(loss->signal) + " (" +
                                strsignal(loss->signal) + ")"
        : loss->what == "exit"
            ? "left in the middle" + code + " (exit was called, or MPI_Abort)"
            : "was ended" + code + " by a library, which says why (a lost peer?)";
    std::fprintf(stderr, "tutti: %s %s; the job ends\n", name_of(rank, pid).c_str(), how.c_str());
    return static_cast<int>(Exit::rank_lost);
}

// As another rank that waited may have said, but not why it waited.
void report_stop(int rank, pid_t process) {
    std::fprintf(stderr, "tutti: %s is stopped (SIGSTOP?) and answers nobody\n",
                 name_of(rank, process).c_str());
}

// SIGIO to this process for every file that somebody makes in the folder from here on, where the
// system can (CONFIG_DNOTIFY). Other than inotify's, such watches are not limited in number: there
// may be hundreds of ranks.
void have_new_files_told(const char* folder) {
    const int handle = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (handle >= 0) fcntl(handle, F_NOTIFY, DN_CREATE | DN_MULTISHOT);
}

}  // namespace

// Whether MPI has been starting or ending for too long; says so then. The guardian of a stopped
// rank speaks first, as the other ranks only wait for that one.
bool Guardian::is_late(MpiPhase phase, pid_t child) {
    if (page_->phase != phase) return false;  // it has just come through
    const bool starts = phase == MpiPhase::starting;
    const double limit = starts ? start_limit_ : page_->end_limit.load();
    const double seconds = in_phase_.look_seconds();
    if (seconds < limit) return false;
    const bool stopped = is_stopped(child);
    const double seconds_for_others = stopped ? 0 : rank_ == 0 ? 2 : 4;
    if (seconds < limit + seconds_for_others) return false;
    std::fprintf(stderr, "tutti: %s has not come through %s for %.0f s: %s; the job ends\n",
                 name_of(rank_, child).c_str(),
                 starts ? "MPI_Init and the first exchange" : "MPI_Finalize", limit,
                 stopped ? "it is stopped" : "another rank or the network does not answer");
    return true;
}

// Whether the rank has been stopped for longer than any other waits for it; says so then.
bool Guardian::is_stopped_too_long(pid_t child) {
    if (stopped_.look_seconds() < stop_limit_) return false;
    std::fprintf(stderr, "tutti: %s has been stopped (SIGSTOP?) for %.0f s; the job ends\n",
                 name_of(rank_, child).c_str(), stop_limit_);
    return true;
}

// Waits for the child's end, for an order to end, or for what takes too long: a phase of MPI, or a
// stopped rank.
void Guardian::guard(pid_t child, const LauncherProcess& launcher, const sigset_t& watched) {
    prctl(PR_SET_NAME, "tutti-guardian");
    signal(SIGPIPE, SIG_IGN);  // the launcher may be gone, and with it the reader of what is said
    if (launcher.is_there()) prctl(PR_SET_PDEATHSIG, SIGTERM);  // nobody else would end this rank
    bool must_end = launcher.is_there() && !launcher.is_parent();
    if (must_end) kill(child, SIGKILL);  // it died before the line above
    // Of a segment that no peer has opened yet nobody could tell once the rank is killed.
    have_new_files_told("/dev/shm");
    MpiPhase phase = MpiPhase::starting;
    int status = 0;
    // Checks the child first: its signal may have come before this process waited for it.
    bool is_reaped = false;
    while (!(is_reaped = waitpid(child, &status, WNOHANG) == child)) {
        // Without one, the rank would stay stopped for ever, should this process be killed as well.
        if (watchman_ > 0 && waitpid(watchman_, nullptr, WNOHANG) == watchman_)
            start_watchman(launcher);
        const MpiPhase phase_before = std::exchange(phase, page_->phase.load());
        if (phase != phase_before) in_phase_ = {};
        in_phase_.look();
        if (phase == MpiPhase::starting)
            list_shared_files(child, page_->began, page_->files_at_start);
        const bool is_running = phase == MpiPhase::running;
        // SIGCHLD tells of it. While MPI starts, too: the others may have come through already, and
        // wait for this rank in their first exchange of facts.
        const bool stopped = phase < MpiPhase::ending && is_stopped(child);
        if (!stopped) stopped_ = {};
        // Should this process be killed while the rank is stopped, the kernel wakes the rank with
        // SIGHUP, which ends it before the watchman can look.
        if (stopped) list_shared_files(child, page_->began, page_->files_at_start);
        int order = SIGCHLD;
        if (is_running && !stopped) {
            sigwait(&watched, &order);
        } else if ((stopped && is_stopped_too_long(child)) ||
                   (!is_running && is_late(phase, child))) {
            page_->outcome = Outcome::late;
            break;
        } else {
            const timespec until_next_look{.tv_sec = 0, .tv_nsec = 200'000'000};
            order = sigtimedwait(&watched, nullptr, &until_next_look);
        }
        if (order == SIGIO) list_shared_files(child, page_->began, page_->files_at_start);
        if (order < 0 || order == SIGCHLD || order == SIGIO) continue;
        must_end = true;
        if (is_stopped(child)) report_stop(rank_, child);
        if (rank_ == 0)
            std::fprintf(stderr,
                         "tutti: the job was ended by a signal, or by a rank that says why; %s\n",
                         page_->kept);
        break;
    }
    const bool is_late = page_->outcome == Outcome::late;
    if ((is_late || must_end) && !is_reaped) {
        end_rank(*page_);  // stopped or stuck in a library, it would not end by itself
        waitpid(child, &status, 0);
        if (is_late) page_->phase = phase;  // the rank is dead: as the watchman is to record it
    }
    page_->process = 0;
    page_->status = status;
    if (!is_late && !must_end) page_->outcome = is_good_end(*page_) ? Outcome::good : Outcome::lost;
    const int code = is_late    ? static_cast<int>(Exit::time_out)
                     : must_end ? static_cast<int>(Exit::rank_lost)
                                : report_end(*page_, rank_, child);
    if (page_->outcome != Outcome::good) have_it_settled();
    _exit(code);
}

// By the watchman alone, as this process may be killed at any moment: so nothing is recorded twice.
// Waited for, as some launchers end with this process all that it has started.
void Guardian::have_it_settled() {
    [[maybe_unused]] const auto written = write(orders_, "!", 1);
    for (int ms_left = 2000; page_->outcome != Outcome::settled && ms_left > 0; --ms_left)
        usleep(1000);
    if (page_->trouble[0] != '\0')
        std::cerr << "tutti: the loss could not be recorded: " + std::string(page_->trouble) + "\n";
}

namespace {

// By nohup, say; to wait for that signal would undo it. SIGTERM also reports the launcher's end.
// UCX, when it is loaded, puts a handler in the place of an ignored SIGHUP: then nohup is not known
// of, unless UCX_DEBUG_SIGNO names another signal.
bool is_ignored(int order) {
    struct sigaction now {};
    return order != SIGTERM && sigaction(order, nullptr, &now) == 0 && now.sa_handler == SIG_IGN;
}

[[noreturn]] void throw_no_process() {
    throw Error("cannot start a process: " + std::string(std::strerror(errno)));
}

}  // namespace

Guardian::Guardian(int rank, const std::string& results_file, double start_limit, double stop_limit)
    : rank_(rank), results_file_(results_file), start_limit_(start_limit), stop_limit_(stop_limit) {
    void* memory =
        mmap(nullptr, sizeof(RankPage), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) throw Error("out of memory");
    page_ = page_of_process = static_cast<RankPage*>(memory);
    page_->began = time(nullptr);
    signal(SIGCHLD, SIG_DFL);  // a launcher that ignores it would leave nothing to wait for

    sigset_t watched, before;
    sigemptyset(&watched);
    for (int order : {SIGCHLD, SIGIO, SIGTERM, SIGINT, SIGHUP})
        if (!is_ignored(order)) sigaddset(&watched, order);
    sigprocmask(SIG_BLOCK, &watched, &before);
    const LauncherProcess launcher;
    const pid_t guardian = getpid();
    if (!start_watchman(launcher)) throw_no_process();
    const pid_t child = fork();
    if (child < 0) throw_no_process();
    if (child > 0) page_->process = child;
    if (child > 0) guard(child, launcher, watched);

    close(orders_);  // the watchman ends this process, too, once the guardian is gone
    sigprocmask(SIG_SETMASK, &before, nullptr);
    leave_signals_to_guardian();
    share_kept_text(page_->kept);
    // Out of the launcher's reach, which wakes a stopped process before it ends it; the guardian
    // does not.
    setpgid(0, 0);
    page_->process = getpid();         // before the next line: a stopped process must be found
    prctl(PR_SET_PDEATHSIG, SIGSTOP);  // the watchman ends it, once it knows its files
    if (getppid() != guardian)
        _exit(static_cast<int>(Exit::rank_lost));  // it died before the line above
}

// False if there can be no further process.
bool Guardian::start_watchman(const LauncherProcess& launcher) {
    int life[2];  // its writing end dies with the guardian, or the guardian writes
    if (pipe2(life, O_CLOEXEC) != 0) return false;
    watchman_ = fork();
    if (watchman_ == 0) {
        close(life[1]);
        keep_watch(*page_, life[0], rank_, results_file_, launcher);
    }
    close(life[0]);
    if (orders_ >= 0) close(orders_);
    orders_ = life[1];
    return watchman_ > 0;
}

void Guardian::has_started() {
    list_shared_files(getpid(), page_->began, page_->files);
    page_->phase = MpiPhase::running;
}

void Guardian::is_ending(Exit code, double limit) {
    page_->own_code = code;
    page_->end_limit = limit;
    page_->phase = MpiPhase::ending;
    kill(getppid(), SIGCHLD);  // wakes the guardian
}

void announce_session(const std::string& id) {
    if (page_of_process == nullptr) return;
    list_shared_files(getpid(), page_of_process->began, page_of_process->files);
    id.copy(page_of_process->session, sizeof page_of_process->session - 1);
}

void announce_time_out(const std::string& what) {
    if (page_of_process == nullptr) return;
    what.copy(page_of_process->time_out, sizeof page_of_process->time_out - 1);
    page_of_process->phase = MpiPhase::leaving;
}

void Guardian::leave(Exit code) {
    page_->own_code = code;
    page_->phase = MpiPhase::leaving;
    if (code != Exit::ok) list_shared_files(getpid(), page_->began, page_->files);
    std::cout.flush();
    std::cerr.flush();
    _exit(static_cast<int>(code));
}

}  // namespace tutti
