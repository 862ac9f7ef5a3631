// SPDX-License-Identifier: Apache-2.0
#include "cli/ranks/launcher_process.hpp"

#include <poll.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <csignal>
#include <fstream>
#include <string>

namespace tutti {
namespace {

constexpr int patience_ms = 10'000;

// Those that live for one job. Not orte-dvm or prted, which may serve many.
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
    if (handle_ >= 0 && !is_parent()) {  // it died meanwhile: that may be another with its number
        close(handle_);
        handle_ = -1;
    }
}

bool LauncherProcess::is_parent() const { return getppid() == process_; }

void LauncherProcess::do_not_let_linger() const {
    if (handle_ < 0) return;
    pollfd end{handle_, POLLIN, 0};
    // Not SIGTERM first: Open MPI 4's mpirun is in the midst of ending the job, takes that for a
    // second order, and crashes on it (SIGSEGV in PMIx_Finalize), with that for its exit code.
    if (poll(&end, 1, patience_ms) == 0)
        syscall(SYS_pidfd_send_signal, handle_, SIGKILL, nullptr, 0);
}

}  // namespace tutti
