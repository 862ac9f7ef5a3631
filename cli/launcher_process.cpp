// SPDX-License-Identifier: Apache-2.0
#include "cli/launcher_process.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <csignal>
#include <fstream>
#include <string>

namespace tutti {
namespace {

constexpr int patience_ms = 10'000;

std::string name_of(pid_t process) {
    std::ifstream file("/proc/" + std::to_string(process) + "/comm");
    std::string name;
    std::getline(file, name);
    return name;
}

// A handle that stays the same process even when its number is used again (Linux 5.3).
int handle_of(pid_t process) { return static_cast<int>(syscall(SYS_pidfd_open, process, 0)); }

// Returns once the process has ended, or else after the patience.
bool ends_soon(int process) {
    pollfd end{process, POLLIN, 0};
    return poll(&end, 1, patience_ms) == 1;
}

}  // namespace

pid_t launcher_process() {
    const pid_t parent = getppid();
    const std::string name = name_of(parent);
    for (const char* known : {"mpirun", "mpiexec", "orte", "prte", "hydra_"})
        if (name.starts_with(known)) return parent;
    return 0;
}

void do_not_let_linger(pid_t launcher) {
    if (launcher == 0 || launcher != getppid()) return;
    const int process = handle_of(launcher);
    if (process < 0) return;
    // A session of its own, as the launcher ends that of the rank; and none of the rank's pipes stays
    // open, as the launcher waits for their ends.
    if (fork() != 0) return;
    setsid();
    prctl(PR_SET_NAME, "tutti-watchman");
    const int nothing = open("/dev/null", O_RDWR);
    for (int standard : {0, 1, 2}) dup2(nothing, standard);
    if (!ends_soon(process)) syscall(SYS_pidfd_send_signal, process, SIGKILL, nullptr, 0);
    _exit(0);
}

}  // namespace tutti
