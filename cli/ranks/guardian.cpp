// SPDX-License-Identifier: Apache-2.0
#include "cli/ranks/guardian.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <functional>
#include <iostream>
#include <limits>
#include <optional>
#include <set>
#include <sstream>

#include "cli/ranks/launcher_process.hpp"
#include "results/record.hpp"
#include "results/store.hpp"

namespace tutti {

namespace {

enum class Outcome {
    none,    // the rank lives, or was ended from outside
    good,    // nothing is to be done
    lost,    // by itself; its wait status tells how
    settled  // recorded and cleaned up after
};

}  // namespace

// What the child tells its guardian, and that the watchman; plain memory, as each may die at any
// moment.
struct Guardian::Page {
    char shared_files[32 * 1024];  // one path a line
    char session[64];              // id of the session that its results file is about to get
    std::atomic<int> status;       // of the rank, as wait gives it
    std::atomic<Outcome> outcome;
    char trouble[256];  // why a loss could not be recorded
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

// Only if the rank had begun to write. Returns why it could not be done, or nothing.
std::string record_loss(const std::string& results_file, int rank, Fail fail) {
    if (results_file.empty() || rank != 0 || session_on_page[0] == '\0') return {};
    try {
        fail.session = session_on_page;
        fail.host = host_name();
        fail.rank = Rank{rank};
        // A rank that has been killed may still hold its file for a moment.
        patiently([&] { Store(results_file).append(fail); });
        return {};
    } catch (const Error& error) {
        return error.what();
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

// What the status of a rank that ended by itself is recorded as; nothing for an end that the rank
// has recorded itself.
std::optional<Fail> loss_of(int status) {
    if (WIFSIGNALED(status))
        return Fail{.phase = "rank killed", .what = "signal", .signal = WTERMSIG(status)};
    if (!is_of_ours(WEXITSTATUS(status)))
        return Fail{
            .phase = "rank ended by a library", .what = "mpi_error", .code = WEXITSTATUS(status)};
    return std::nullopt;
}

// Says why a rank is lost; returns the exit code for it.
int report_end(int status, int rank, pid_t pid) {
    const auto loss = loss_of(status);
    if (!loss) return WEXITSTATUS(status);
    const std::string how = loss->signal != 0 ? "killed by signal " + std::to_string(loss->signal) +
                                                    " (" + strsignal(loss->signal) + ")"
                                              : "ended with code " + std::to_string(loss->code) +
                                                    " by a library, which says why (a lost peer?)";
    std::fprintf(stderr, "tutti: rank %d (process %d on %s) was %s; the job ends\n", rank, pid,
                 host_name().c_str(), how.c_str());
    return static_cast<int>(Exit::rank_lost);
}

}  // namespace

// Waits for the child's end or for an order to end. Never returns.
void Guardian::guard(pid_t child, int watchman_hears, int rank, const LauncherProcess& launcher,
                     const sigset_t& watched) {
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
    page_->status = status;
    if (!was_told_to_end) page_->outcome = is_good_end(status) ? Outcome::good : Outcome::lost;
    const int code =
        was_told_to_end ? static_cast<int>(Exit::rank_lost) : report_end(status, rank, child);
    if (page_->outcome != Outcome::good) have_it_settled(watchman_hears);
    _exit(code);
}

// By the watchman alone, as this process may be killed at any moment: so nothing is recorded twice.
// Waited for, as some launchers end with this process all that it has started.
void Guardian::have_it_settled(int watchman_hears) {
    [[maybe_unused]] const auto told = write(watchman_hears, "!", 1);
    for (int ms_left = 2000; page_->outcome != Outcome::settled && ms_left > 0; --ms_left)
        usleep(1000);
    if (page_->trouble[0] != '\0')
        std::cerr << "tutti: the loss could not be recorded: " + std::string(page_->trouble) + "\n";
}

namespace {

// Of those above 2. What a process inherits from its launcher, such as a pipe, would stay open.
void close_all_but(int one, int other) {
    const auto close_range = [](int first, int last) {
        if (first <= last) syscall(SYS_close_range, first, last, 0);  // Linux 5.9
    };
    const int low = std::max(2, std::min(one, other)), high = std::max(2, std::max(one, other));
    close_range(3, low - 1);
    close_range(low + 1, high - 1);
    close_range(high + 1, std::numeric_limits<int>::max());
}

}  // namespace

// Outlives the guardian, whose launcher may kill it 2 ms after telling it to end, which is too soon
// to settle anything. In a session of its own, as the launcher ends that of the rank; without the
// rank's pipes, as the launcher waits for their ends. Never returns.
void Guardian::keep_watch(int hears, int rank, const std::string& results_file,
                          const LauncherProcess& launcher) {
    prctl(PR_SET_NAME, "tutti-watchman");
    setsid();
    const int nothing = open("/dev/null", O_RDWR);
    for (int standard : {0, 1, 2}) dup2(nothing, standard);
    close_all_but(hears, launcher.handle());
    char byte = 0;
    while (read(hears, &byte, 1) < 0 && errno == EINTR) {
    }
    if (page_->outcome == Outcome::good) _exit(0);
    remove_files(page_->shared_files);
    const auto loss = page_->outcome == Outcome::lost
                          ? loss_of(page_->status)
                          : Fail{.phase = ended_from_outside, .what = "signal"};
    if (loss) record_loss(results_file, rank, *loss).copy(page_->trouble, sizeof Page::trouble - 1);
    page_->outcome = Outcome::settled;
    launcher.do_not_let_linger();
    _exit(0);
}

namespace {

// By nohup, say; to wait for an order would undo that. SIGTERM also tells of the launcher's end.
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
    for (int order : {SIGCHLD, SIGTERM, SIGINT, SIGHUP})
        if (!is_ignored(order)) sigaddset(&watched, order);
    sigprocmask(SIG_BLOCK, &watched, &before);
    const LauncherProcess launcher;
    int life[2];  // its writing end dies with guardian and rank; or the guardian writes
    if (pipe2(life, O_CLOEXEC) != 0) throw_no_process();
    const pid_t guardian = getpid();
    const pid_t watchman = fork();
    if (watchman < 0) throw_no_process();
    if (watchman == 0) {
        close(life[1]);
        keep_watch(life[0], rank, results_file, launcher);
    }
    close(life[0]);
    const pid_t child = fork();
    if (child < 0) throw_no_process();
    if (child > 0) guard(child, life[1], rank, launcher, watched);

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
