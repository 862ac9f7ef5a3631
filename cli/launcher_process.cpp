// SPDX-License-Identifier: Apache-2.0
#include "cli/launcher_process.hpp"

#include <poll.h>
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

}  // namespace

LauncherProcess::LauncherProcess() : process_(getppid()) {
    const std::string name = name_of(process_);
    for (const char* known : {"mpirun", "mpiexec", "orte", "prte", "hydra_"})
        if (name.starts_with(known))
            handle_ = static_cast<int>(syscall(SYS_pidfd_open, process_, 0));  // Linux 5.3
}

bool LauncherProcess::is_parent() const { return getppid() == process_; }

void LauncherProcess::do_not_let_linger() const {
    if (handle_ < 0) return;
    pollfd end{handle_, POLLIN, 0};
    if (poll(&end, 1, patience_ms) == 0)
        syscall(SYS_pidfd_send_signal, handle_, SIGKILL, nullptr, 0);
}

}  // namespace tutti
