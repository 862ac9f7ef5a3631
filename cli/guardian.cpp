// SPDX-License-Identifier: Apache-2.0
#include "cli/guardian.hpp"

#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <iostream>
#include <set>
#include <sstream>

#include "cli/launcher_process.hpp"
#include "results/record.hpp"
#include "results/store.hpp"

namespace tutti {

// What the child tells its guardian; plain memory, as the child may die at any moment.
struct Guardian::Page {
    char shared_files[32 * 1024];  // one path a line
    char session[64];              // id of the session that its results file is about to get
};

namespace {

void remove_files(const char* paths) {
    std::istringstream lines(paths);
    for (std::string path; std::getline(lines, path);) unlink(path.c_str());
}

// Where the rank says which session it writes; null before there is a guardian.
char* session_on_page = nullptr;
time_t guardian_started = 0;
constexpr std::size_t session_size = 64;

// Only if the rank had begun to write.
void record_loss(const std::string& results_file, int rank, int signal, const std::string& phase) {
    if (results_file.empty() || rank != 0 || session_on_page[0] == '\0') return;
    try {
        Fail fail;
        fail.session = session_on_page;
        fail.phase = phase;
        fail.what = "signal";
        fail.signal = signal;
        if (signal != 0) fail.rank = Rank{rank};
        Store(results_file).append(fail);
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

int code_of(int status, int rank, int pid) {
    if (WIFEXITED(status)) return WEXITSTATUS(status);
    const int signal = WTERMSIG(status);
    std::fprintf(stderr, "tutti: rank %d (process %d) was killed by signal %d (%s); the job ends\n",
                 rank, pid, signal, strsignal(signal));
    return static_cast<int>(Exit::rank_lost);
}

// Waits for the child's end or for an order to end. Never returns.
[[noreturn]] void guard(pid_t child, int rank, const std::string& results_file,
                        const char* shared_files, const sigset_t& watched) {
    prctl(PR_SET_NAME, "tutti-guardian");
    const pid_t launcher = launcher_process();
    bool was_told_to_end = false;
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
    const bool ended_well =
        WIFEXITED(status) &&
        (WEXITSTATUS(status) == 0 || WEXITSTATUS(status) == 2 || WEXITSTATUS(status) == 64);
    if (!ended_well) {
        remove_files(shared_files);
        do_not_let_linger(launcher);
    }
    if (was_told_to_end) {
        record_loss(results_file, rank, 0,
                    "ended from outside: another rank failed, or the job was stopped");
        _exit(static_cast<int>(Exit::rank_lost));
    }
    if (WIFSIGNALED(status)) record_loss(results_file, rank, WTERMSIG(status), "rank killed");
    _exit(code_of(status, rank, child));
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
    const pid_t guardian = getpid();
    const pid_t child = fork();
    if (child < 0) throw Error("cannot start a process: " + std::string(std::strerror(errno)));
    if (child > 0) guard(child, rank, results_file, page_->shared_files, watched);

    sigprocmask(SIG_SETMASK, &before, nullptr);
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
