// SPDX-License-Identifier: Apache-2.0
#include "cli/ranks/cleaner.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <limits>
#include <set>
#include <sstream>

#include "results/records/store.hpp"

namespace tutti {
namespace {

constexpr int linger_ms = 10'000;

// Launchers that run for one job only. orte-dvm and prted may serve several jobs.
constexpr const char* launchers[] = {"mpirun", "mpiexec", "orterun", "orted", "prterun", "hydra_"};

std::string name_of(pid_t process) {
    std::ifstream file("/proc/" + std::to_string(process) + "/comm");
    std::string name;
    std::getline(file, name);
    return name;
}

}  // namespace

LauncherProcess::LauncherProcess() : process_(getppid()) {
    const std::string name = name_of(process_);
    for (const char* known : launchers)
        if (name.starts_with(known))
            handle_ = static_cast<int>(syscall(SYS_pidfd_open, process_, 0));  // Linux 5.3
    if (handle_ >= 0 &&
        !is_parent()) {  // it died meanwhile, and another process may have its number
        close(handle_);
        handle_ = -1;
    }
}

bool LauncherProcess::is_parent() const { return getppid() == process_; }

void LauncherProcess::kill_launcher() const {
    if (handle_ < 0) return;
    pollfd end{handle_, POLLIN, 0};
    // Does not use SIGTERM first: mpirun of Open MPI 4, while ending the job, crashes on a second
    // SIGTERM (SIGSEGV in PMIx_Finalize), which becomes its exit code.
    if (poll(&end, 1, linger_ms) == 0) syscall(SYS_pidfd_send_signal, handle_, SIGKILL, nullptr, 0);
}

namespace {

bool is_of_this_job(const std::string& path, std::time_t since) {
    struct stat file {};
    return stat(path.c_str(), &file) == 0 && file.st_uid == geteuid() && file.st_ctime >= since;
}

void remove_files(const char* paths) {
    std::istringstream lines(paths);
    for (std::string path; std::getline(lines, path);) unlink(path.c_str());
}

// Returns true if the rank itself chose this exit code. Other codes come from a library that ended
// the process, as MPI libraries do when a connection to a peer breaks. They also use code 1, so a
// rank that ends with 1 must have announced it.
bool is_own_exit_code(int code, Exit announced) {
    for (Exit ours :
         {announced, Exit::ok, Exit::wrong_result, Exit::time_out, Exit::rank_lost, Exit::usage})
        if (code == static_cast<int>(ours)) return true;
    return false;
}

}  // namespace

namespace {

// Returns true if a descriptor may be a segment: those are open for reading and writing. Files
// opened for appending belong to the user; descriptors 0 to 2 come from the launcher.
bool may_be_segment(const std::string& process_folder, const std::string& descriptor) {
    std::ifstream facts(process_folder + "/fdinfo/" + descriptor);
    for (std::string name, value; facts >> name >> value;)
        if (name == "flags:") {
            const unsigned long flags = std::stoul(value, nullptr, 8);
            return (flags & O_ACCMODE) == O_RDWR && (flags & O_APPEND) == 0 && descriptor != "0" &&
                   descriptor != "1" && descriptor != "2";
        }
    return false;
}

}  // namespace

void list_shared_files(pid_t process, std::time_t since, SharedFiles& files) {
    std::set<std::string> paths;
    const auto add = [&](const std::string& path) {
        if (path.starts_with("/dev/shm/") &&
            path.find('\n') == path.npos &&  // paths are stored as lines
            is_of_this_job(path, since))
            paths.insert(path);
    };
    const std::string folder = "/proc/" + std::to_string(process);
    std::ifstream maps(folder + "/maps");
    for (std::string line; std::getline(maps, line);) {
        const auto path_begins =
            line.find('/');  // the last column; the columns before have no slash
        if (path_begins != std::string::npos) add(line.substr(path_begins));
    }
    std::error_code unreadable;  // the process is ending
    for (std::filesystem::directory_iterator file(folder + "/fd", unreadable), end; file != end;
         file.increment(unreadable))
        if (may_be_segment(folder, file->path().filename()))
            add(std::filesystem::read_symlink(file->path(), unreadable));
    if (paths.empty()) return;  // too early or too late: a process that ends has no memory
    std::string text;
    for (const auto& path : paths) text += path + "\n";
    if (text.size() < sizeof files) std::memcpy(files, text.c_str(), text.size() + 1);
}

bool is_stopped(pid_t process) {
    std::ifstream file("/proc/" + std::to_string(process) + "/stat");
    const std::string text{std::istreambuf_iterator<char>(file), {}};
    const auto name_ends = text.rfind(')');  // end of the second field; the third is the state
    return name_ends != std::string::npos && text.compare(name_ends, 3, ") T") == 0;
}

void end_rank(RankPage& page) {
    const pid_t process = page.process;
    if (process <= 0 || kill(process, SIGSTOP) != 0) return;
    // Waits until it has stopped: it could create another file after the list.
    for (int ms_left = 100; !is_stopped(process) && ms_left > 0; --ms_left) usleep(1000);
    list_shared_files(process, page.began, page.files_at_start);
    kill(process, SIGKILL);
}

std::string host_name() {
    char name[256] = "";
    gethostname(name, sizeof name - 1);
    return name;
}

std::optional<Fail> loss_of(const RankPage& page) {
    const int status = page.status;
    if (WIFSIGNALED(status))
        return Fail{.phase = "rank killed", .what = "signal", .signal = WTERMSIG(status)};
    const int code = WEXITSTATUS(status);
    if (page.phase == MpiPhase::starting || page.phase == MpiPhase::running)  // a call of exit
        return Fail{.phase = "rank left in the middle", .what = "exit", .code = code};
    if (page.time_out[0] != '\0')
        return Fail{.phase = page.time_out, .what = "timeout", .code = code};
    if (!is_own_exit_code(code, page.own_code))
        return Fail{.phase = "rank ended by a library", .what = "mpi_error", .code = code};
    return std::nullopt;
}

namespace {

std::optional<Fail> failure_of(const RankPage& page) {
    switch (page.outcome.load()) {
        case Outcome::lost:
            return loss_of(page);
        case Outcome::late:
            return Fail{.phase = page.phase == MpiPhase::starting  ? "start of MPI"
                                 : page.phase == MpiPhase::running ? "rank stopped"
                                                                   : "end of MPI",
                        .what = "timeout"};
        default:
            return Fail{.phase = "ended from outside: another rank failed, or the job was stopped",
                        .what = "signal"};
    }
}

// Tries repeatedly: a killed rank may hold its file for a moment.
void append_soon(const std::string& results_file, const Fail& fail) {
    for (int attempts_left = 20;; --attempts_left) {
        try {
            return Store(results_file).append(fail);
        } catch (const Error&) {
            if (attempts_left == 0) throw;
            usleep(10'000);
        }
    }
}

// Records the loss if the rank had begun to write. Returns the error, or an empty text.
std::string record_loss(const RankPage& page, const std::string& results_file, int rank,
                        Fail fail) {
    const bool has_own_reason = page.outcome != Outcome::none;
    if (results_file.empty() || page.session[0] == '\0' || (rank != 0 && !has_own_reason))
        return {};
    try {
        fail.session = page.session;
        fail.host = host_name();
        fail.rank = Rank{rank};
        if (rank != 0 || !has_own_reason)
            append_to_running_session(results_file, fail);
        else
            append_soon(results_file, fail);
        return {};
    } catch (const Error& error) {
        return error.what();
    }
}

// Closes all other descriptors above 2: an inherited pipe of the launcher would stay open.
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

void run_cleaner(RankPage& page, int orders, int rank, const std::string& results_file,
                 const LauncherProcess& launcher) {
    prctl(PR_SET_NAME, "tutti-cleaner");
    setsid();
    const int nothing = open("/dev/null", O_RDWR);
    for (int standard : {0, 1, 2}) dup2(nothing, standard);
    close_all_but(orders, launcher.handle());
    char byte = 0;
    while (read(orders, &byte, 1) < 0 && errno == EINTR) {
    }
    if (page.outcome == Outcome::good) _exit(0);
    end_rank(page);  // its supervisor may have been killed
    remove_files(page.files_at_start);
    remove_files(page.files);
    if (const auto fail = failure_of(page))
        record_loss(page, results_file, rank, *fail).copy(page.trouble, sizeof page.trouble - 1);
    page.outcome = Outcome::settled;
    launcher.kill_launcher();
    _exit(0);
}

}  // namespace tutti
