// SPDX-License-Identifier: Apache-2.0
#include "cli/ranks/supervisor.hpp"

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
#include "cli/ranks/cleaner.hpp"

namespace tutti {
namespace {

// The page of this process; null without a supervisor.
RankPage* page_of_process = nullptr;

// Returns true if the rank has ended by itself and has already reported any problem.
bool is_good_end(const RankPage& page) {
    if (!WIFEXITED(page.status) || loss_of(page)) return false;
    const Exit code{WEXITSTATUS(page.status)};
    return code != Exit::time_out && code != Exit::rank_lost;
}

// Returns for example "rank 1 (process 4711 on node3)".
std::string name_of(int rank, pid_t process) {
    return "rank " + std::to_string(rank) + " (process " + std::to_string(process) + " on " +
           host_name() + ")";
}

// Reports why a rank is lost. Returns the exit code.
int report_end(const RankPage& page, int rank, pid_t pid) {
    const auto loss = loss_of(page);
    if (!loss || loss->what == "timeout")
        return WEXITSTATUS(page.status);  // the rank has reported it
    const std::string code = " with code " + std::to_string(loss->code);
    const std::string how =
        loss->signal != 0 ? "was killed by signal " + std::to_string(loss->signal) + " (" +
                                strsignal(loss->signal) + ")"
        : loss->what == "exit"
            ? "exited" + code + " before the job finished (exit or MPI_Abort was called)"
            : "was ended" + code + " by a library, whose message tells why (a lost peer?)";
    std::fprintf(stderr, "tutti: %s %s; aborting\n", name_of(rank, pid).c_str(), how.c_str());
    return static_cast<int>(Exit::rank_lost);
}

// Reports a stopped rank. A rank that waited for it does not know the reason.
void report_stop(int rank, pid_t process) {
    std::fprintf(stderr, "tutti: %s is stopped (SIGSTOP?)\n", name_of(rank, process).c_str());
}

// Requests SIGIO for every new file in the folder (needs CONFIG_DNOTIFY). Unlike inotify's watches,
// these are not limited in number: there may be hundreds of ranks.
void watch_new_files(const char* folder) {
    const int handle = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (handle >= 0) fcntl(handle, F_NOTIFY, DN_CREATE | DN_MULTISHOT);
}

}  // namespace

// Returns true, after reporting it, if MPI takes too long to start or end. The supervisor of a
// stopped rank reports first, as the other ranks only wait for that one.
bool Supervisor::is_late(MpiPhase phase, pid_t child) {
    if (page_->phase != phase) return false;  // the phase has just ended
    const bool starts = phase == MpiPhase::starting;
    const double limit = starts ? start_limit_ : page_->end_limit.load();
    const double seconds = in_phase_.look_seconds();
    if (seconds < limit) return false;
    const bool stopped = is_stopped(child);
    const double seconds_for_others = stopped ? 0 : rank_ == 0 ? 2 : 4;
    if (seconds < limit + seconds_for_others) return false;
    std::fprintf(stderr, "tutti: %s did not complete %s within %.0f s: %s; aborting\n",
                 name_of(rank_, child).c_str(),
                 starts ? "MPI_Init and the first exchange" : "MPI_Finalize", limit,
                 stopped ? "it is stopped" : "another rank or the network does not respond");
    return true;
}

// Returns true, after reporting it, if the rank has been stopped for longer than other ranks wait.
bool Supervisor::is_stopped_too_long(pid_t child) {
    if (stopped_.look_seconds() < stop_limit_) return false;
    std::fprintf(stderr, "tutti: %s has been stopped (SIGSTOP?) for %.0f s; aborting\n",
                 name_of(rank_, child).c_str(), stop_limit_);
    return true;
}

// Waits until the child ends, a signal asks to end it, or something takes too long: a phase of MPI,
// or a stopped rank.
void Supervisor::guard(pid_t child, const LauncherProcess& launcher, const sigset_t& watched) {
    prctl(PR_SET_NAME, "tutti-supervise");
    signal(SIGPIPE, SIG_IGN);  // the launcher that reads the messages may be gone
    if (launcher.is_there())
        prctl(PR_SET_PDEATHSIG, SIGTERM);  // otherwise nothing would end this rank
    bool must_end = launcher.is_there() && !launcher.is_parent();
    if (must_end) kill(child, SIGKILL);  // the launcher died before the line above
    // Watches for new segments: one that no peer has opened cannot be found once the rank is
    // killed.
    watch_new_files("/dev/shm");
    MpiPhase phase = MpiPhase::starting;
    int status = 0;
    // Checks the child first: its signal may have arrived before the wait.
    bool is_reaped = false;
    while (!(is_reaped = waitpid(child, &status, WNOHANG) == child)) {
        // Replaces a killed cleaner. Without one, a stopped rank would stay for ever if this
        // process were killed too.
        if (cleaner_ > 0 && waitpid(cleaner_, nullptr, WNOHANG) == cleaner_)
            start_cleaner(launcher);
        const MpiPhase phase_before = std::exchange(phase, page_->phase.load());
        if (phase != phase_before) in_phase_ = {};
        in_phase_.look();
        if (phase == MpiPhase::starting)
            list_shared_files(child, page_->began, page_->files_at_start);
        const bool is_running = phase == MpiPhase::running;
        // SIGCHLD reports a stopped rank. This matters while MPI starts, too: other ranks may
        // already wait for this one in their first exchange.
        const bool stopped = phase < MpiPhase::ending && is_stopped(child);
        if (!stopped) stopped_ = {};
        // Lists the files now: if this process is killed while the rank is stopped, the kernel
        // wakes the rank with SIGHUP, which ends it before the cleaner can look.
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
            std::fprintf(
                stderr,
                "tutti: the job was ended by a signal, or by a rank that reports the reason; %s\n",
                page_->kept);
        break;
    }
    const bool is_late = page_->outcome == Outcome::late;
    if ((is_late || must_end) && !is_reaped) {
        end_rank(*page_);  // a rank that is stopped or stuck in a library does not end by itself
        waitpid(child, &status, 0);
        if (is_late) page_->phase = phase;  // restores the phase for the record of the cleaner
    }
    page_->process = 0;
    page_->status = status;
    if (!is_late && !must_end) page_->outcome = is_good_end(*page_) ? Outcome::good : Outcome::lost;
    const int code = is_late    ? static_cast<int>(Exit::time_out)
                     : must_end ? static_cast<int>(Exit::rank_lost)
                                : report_end(*page_, rank_, child);
    if (page_->outcome != Outcome::good) finish_cleanup();
    _exit(code);
}

// Lets the cleaner record the loss, and waits for it. Only the cleaner records, as this process may
// be killed at any moment. The wait is needed because some launchers kill everything they started
// when this process ends.
void Supervisor::finish_cleanup() {
    [[maybe_unused]] const auto written = write(orders_, "!", 1);
    for (int ms_left = 2000; page_->outcome != Outcome::settled && ms_left > 0; --ms_left)
        usleep(1000);
    if (page_->trouble[0] != '\0')
        std::cerr << "tutti: the lost rank could not be recorded: " + std::string(page_->trouble) +
                         "\n";
}

namespace {

// Returns true for a signal that is ignored, for example by nohup: waiting for it would undo that.
// SIGTERM is never treated as ignored, as it also reports the launcher's end. UCX replaces an
// ignored SIGHUP by a handler when it is loaded, unless UCX_DEBUG_SIGNO names another signal.
bool is_ignored(int order) {
    struct sigaction now {};
    return order != SIGTERM && sigaction(order, nullptr, &now) == 0 && now.sa_handler == SIG_IGN;
}

[[noreturn]] void throw_no_process() {
    throw Error("cannot start a process: " + std::string(std::strerror(errno)));
}

}  // namespace

Supervisor::Supervisor(int rank, const std::string& results_file, double start_limit,
                       double stop_limit)
    : rank_(rank), results_file_(results_file), start_limit_(start_limit), stop_limit_(stop_limit) {
    void* memory =
        mmap(nullptr, sizeof(RankPage), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) throw Error("out of memory");
    page_ = page_of_process = static_cast<RankPage*>(memory);
    page_->began = time(nullptr);
    signal(SIGCHLD, SIG_DFL);  // an inherited ignored SIGCHLD would leave nothing to wait for

    sigset_t watched, before;
    sigemptyset(&watched);
    for (int order : {SIGCHLD, SIGIO, SIGTERM, SIGINT, SIGHUP})
        if (!is_ignored(order)) sigaddset(&watched, order);
    sigprocmask(SIG_BLOCK, &watched, &before);
    const LauncherProcess launcher;
    const pid_t supervisor = getpid();
    if (!start_cleaner(launcher)) throw_no_process();
    const pid_t child = fork();
    if (child < 0) throw_no_process();
    if (child > 0) page_->process = child;
    if (child > 0) guard(child, launcher, watched);

    close(orders_);  // then the pipe closes with the supervisor
    sigprocmask(SIG_SETMASK, &before, nullptr);
    restore_default_signals();
    share_kept_text(page_->kept);
    // Moves the rank out of the launcher's process group. A launcher wakes a stopped process before
    // it ends it; the supervisor does not.
    setpgid(0, 0);
    page_->process = getpid();  // set before the next line, so that a stopped process is found
    prctl(PR_SET_PDEATHSIG, SIGSTOP);  // the cleaner ends it after listing its files
    if (getppid() != supervisor)
        _exit(static_cast<int>(Exit::rank_lost));  // the supervisor died before the line above
}

// Returns false if no process can be created.
bool Supervisor::start_cleaner(const LauncherProcess& launcher) {
    int life[2];  // closes when the supervisor dies
    if (pipe2(life, O_CLOEXEC) != 0) return false;
    cleaner_ = fork();
    if (cleaner_ == 0) {
        close(life[1]);
        run_cleaner(*page_, life[0], rank_, results_file_, launcher);
    }
    close(life[0]);
    if (orders_ >= 0) close(orders_);
    orders_ = life[1];
    return cleaner_ > 0;
}

void Supervisor::has_started() {
    list_shared_files(getpid(), page_->began, page_->files);
    page_->phase = MpiPhase::running;
}

void Supervisor::is_ending(Exit code, double limit) {
    page_->own_code = code;
    page_->end_limit = limit;
    page_->phase = MpiPhase::ending;
    kill(getppid(), SIGCHLD);  // wakes the supervisor
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

void Supervisor::leave(Exit code) {
    page_->own_code = code;
    page_->phase = MpiPhase::leaving;
    if (code != Exit::ok) list_shared_files(getpid(), page_->began, page_->files);
    std::cout.flush();
    std::cerr.flush();
    _exit(static_cast<int>(code));
}

}  // namespace tutti
