// SPDX-License-Identifier: Apache-2.0
#include "cli/guardian.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <functional>
#include <iostream>
#include <set>
#include <sstream>

#include "cli/launcher_process.hpp"
#include "results/record.hpp"
#include "results/store.hpp"

namespace tutti {

namespace {

enum class Outcome { none, good, settled };  // settled: recorded and cleaned up after

}  // namespace

// What the child tells its guardian, and that the watchman; plain memory, as each may die at any
// moment.
struct Guardian::Page {
    char shared_files[32 * 1024];  // one path a line
    char session[64];              // id of the session that its results file is about to get
    std::atomic<Outcome> outcome;  // what the guardian has come to
};

namespace {

void remove_files(const char* paths) {
    std::istringstream lines(paths);
    for (std::string path; std::getline(lines, path);) unlink(path.c_str());
}

constexpr auto ended_from_outside =
    "ended from outside: another rank failed, or the job was stopped";

// Where the rank says which session it writes; null before there is a guardian.
char* session_on_page = nullptr;
time_t guardian_started = 0;
constexpr std::size_t session_size = 64;

std::string host_name() {
    char name[256] = "";
    gethostname(name, sizeof name - 1);
    return name;
}

void patiently(const std::function<void()>& act) {
    for (int attempts_left = 20;; --attempts_left) {
        try {
            return act();
        } catch (const Error&) {
            if (attempts_left == 0) throw;
            usleep(10'000);
        }
    }
}

// Only if the rank had begun to write.
void record_loss(const std::string& results_file, int rank, Fail fail) {
    if (results_file.empty() || rank != 0 || session_on_page[0] == '\0') return;
    try {
        fail.session = session_on_page;
        fail.host = host_name();
        // A rank that has been killed may still hold its file for a moment.
        patiently([&] { Store(results_file).append(fail); });
    } catch (const Error& error) {
        std::cerr << "tutti: the loss could not be recorded: " << error.what() << std::endl;
    }
}

// Made by this user since the guardian started; other programs' segments may be mapped, too.
bool is_of_this_job(const std::string& path) {
    struct stat file {};
    return stat(path.c_str(), &file) == 0 && file.st_uid == geteuid() &&
           file.st_ctime >= guardian_started;
}

// A rank ends by these alone. Any other code is that of a library which ended the process, as MPI
// libraries do when a connection to a peer breaks.
bool is_of_ours(int code) {
    for (Exit ours : {Exit::ok, Exit::wrong_result, Exit::time_out, Exit::rank_lost, Exit::usage})
        if (code == static_cast<int>(ours)) return true;
    return false;
}

bool is_good_end(int status) {
    if (!WIFEXITED(status)) return false;
    const Exit code{WEXITSTATUS(status)};
    return code == Exit::ok || code == Exit::wrong_result || code == Exit::usage;
}

// Says and records why a rank is lost; returns the exit code for it.
int report_end(int status, int rank, pid_t pid, const std::string& results_file) {
    Fail fail{.what = "signal", .rank = Rank{rank}};
    std::string how;
    if (WIFSIGNALED(status)) {
        fail.phase = "rank killed";
        fail.signal = WTERMSIG(status);
        how =
            "killed by signal " + std::to_string(fail.signal) + " (" + strsignal(fail.signal) + ")";
    } else if (!is_of_ours(WEXITSTATUS(status))) {
        fail.phase = "rank ended by a library";
        fail.what = "mpi_error";
        fail.code = WEXITSTATUS(status);
        how = "ended with code " + std::to_string(fail.code) +
              " by a library, which says why (a lost peer?)";
    } else {
        return WEXITSTATUS(status);
    }
    record_loss(results_file, rank, fail);
    std::fprintf(stderr, "tutti: rank %d (process %d on %s) was %s; the job ends\n", rank, pid,
                 host_name().c_str(), how.c_str());
    return static_cast<int>(Exit::rank_lost);
}

// Waits for the child's end or for an order to end. Never returns.
[[noreturn]] void guard(pid_t child, int rank, const std::string& results_file,
                        const char* shared_files, std::atomic<Outcome>& outcome,
                        const LauncherProcess& launcher, const sigset_t& watched) {
    prctl(PR_SET_NAME, "tutti-guardian");
    signal(SIGPIPE, SIG_IGN);  // the launcher may be gone, and with it the reader of what is said
    if (launcher.is_there()) prctl(PR_SET_PDEATHSIG, SIGTERM);  // nobody else would end this rank
    bool was_told_to_end = launcher.is_there() && !launcher.is_parent();
    if (was_told_to_end) kill(child, SIGKILL);  // it died before the line above
    int status = 0;
    for (;;) {
        // The child first: its signal may have come before this process waited for it.
        if (waitpid(child, &status, WNOHANG) == child) break;
        int signal = 0;
        sigwait(&watched, &signal);
        if (signal == SIGCHLD) continue;
        was_told_to_end = true;
        kill(child, SIGKILL);  // stopped or stuck in a library, it would not hear anything else
        waitpid(child, &status, 0);
        break;
    }
    int code = static_cast<int>(Exit::rank_lost);
    if (was_told_to_end)
        record_loss(results_file, rank, {.phase = ended_from_outside, .what = "signal"});
    else
        code = report_end(status, rank, child, results_file);
    const bool is_good = !was_told_to_end && is_good_end(status);
    if (!is_good) remove_files(shared_files);
    outcome = is_good ? Outcome::good : Outcome::settled;
    _exit(code);
}

// Outlives the guardian, whose launcher may kill it 2 ms after telling it to end, which is too soon
// to settle anything: then this one does. In a session of its own, as the launcher ends that of the
// rank; without the rank's pipes, as the launcher waits for their ends. Never returns.
[[noreturn]] void keep_watch(int others_live, const LauncherProcess& launcher, int rank,
                             const std::string& results_file, const char* shared_files,
                             const std::atomic<Outcome>& outcome) {
    prctl(PR_SET_NAME, "tutti-watchman");
    setsid();
    const int nothing = open("/dev/null", O_RDWR);
    for (int standard : {0, 1, 2}) dup2(nothing, standard);
    char byte = 0;
    while (read(others_live, &byte, 1) < 0 && errno == EINTR) {
    }
    if (outcome == Outcome::good) _exit(0);
    if (outcome == Outcome::none) {
        remove_files(shared_files);
        record_loss(results_file, rank, {.phase = ended_from_outside, .what = "signal"});
    }
    launcher.do_not_let_linger();
    _exit(0);
}

[[noreturn]] void throw_no_process() {
    throw Error("cannot start a process: " + std::string(std::strerror(errno)));
}

}  // namespace

Guardian::Guardian(int rank, const std::string& results_file) {
    void* memory =
        mmap(nullptr, sizeof(Page), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) throw Error("out of memory");
    page_ = static_cast<Page*>(memory);
    session_on_page = page_->session;
    guardian_started = time(nullptr);
    signal(SIGCHLD, SIG_DFL);  // a launcher that ignores it would leave nothing to wait for

    sigset_t watched, before;
    sigemptyset(&watched);
    for (int order : {SIGCHLD, SIGTERM, SIGINT, SIGHUP}) sigaddset(&watched, order);
    sigprocmask(SIG_BLOCK, &watched, &before);
    const LauncherProcess launcher;
    int life[2];  // once guardian and rank are dead, so is its writing end
    if (pipe2(life, O_CLOEXEC) != 0) throw_no_process();
    const pid_t guardian = getpid();
    const pid_t watchman = fork();
    if (watchman < 0) throw_no_process();
    if (watchman == 0) {
        close(life[1]);
        keep_watch(life[0], launcher, rank, results_file, page_->shared_files, page_->outcome);
    }
    close(life[0]);
    const pid_t child = fork();
    if (child < 0) throw_no_process();
    if (child > 0)
        guard(child, rank, results_file, page_->shared_files, page_->outcome, launcher, watched);

    sigprocmask(SIG_SETMASK, &before, nullptr);
    // Out of the launcher's reach, which wakes a stopped process before it ends it; the guardian
    // does not.
    setpgid(0, 0);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != guardian)
        _exit(static_cast<int>(Exit::rank_lost));  // it died before the line above
}

void Guardian::remember_shared_files() {
    std::set<std::string> paths;
    std::ifstream maps("/proc/self/maps");
    for (std::string line; std::getline(maps, line);) {
        const auto path_begins = line.find('/');  // the last column; those before have no slash
        if (path_begins == std::string::npos) continue;
        const std::string path = line.substr(path_begins);
        if (path.starts_with("/dev/shm/") && is_of_this_job(path)) paths.insert(path);
    }
    std::string text;
    for (const auto& path : paths) text += path + "\n";
    if (text.size() < sizeof page_->shared_files)
        std::memcpy(page_->shared_files, text.c_str(), text.size() + 1);
}

void announce_session(const std::string& id) {
    if (session_on_page != nullptr) id.copy(session_on_page, session_size - 1);
}

void Guardian::leave(Exit code) {
    std::cout.flush();
    std::cerr.flush();
    _exit(static_cast<int>(code));
}

}  // namespace tutti
