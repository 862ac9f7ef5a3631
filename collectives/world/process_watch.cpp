// SPDX-License-Identifier: Apache-2.0
#include "collectives/world/process_watch.hpp"

#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/index.hpp"

namespace tutti {
namespace {

// Process numbers are valid only within one process namespace of one host.
struct Process {
    pid_t number;
    dev_t device;
    ino_t name_space;
};

Process this_process() {
    struct stat seen {};
    if (stat("/proc/self/ns/pid", &seen) != 0) return {};
    return {getpid(), seen.st_dev, seen.st_ino};
}

}  // namespace

ProcessWatch::ProcessWatch(World& world) {
    const Process me = this_process();
    const auto all = gather_all(world, me);
    if (world.one_process() || me.number == 0) return;
    for (const Rank rank : world.ranks_of_host()) {
        const Process& other = at(all, rank);
        if (rank == world.rank() || other.device != me.device || other.name_space != me.name_space)
            continue;
        const long watched = syscall(SYS_pidfd_open, other.number, 0);
        if (watched < 0) continue;  // gone already, or no pidfd: rely on the other deadlines
        processes_.push_back({.fd = static_cast<int>(watched), .events = POLLIN, .revents = 0});
        ranks_.push_back(rank);
    }
}

ProcessWatch::~ProcessWatch() {
    for (const pollfd& process : processes_) close(process.fd);
}

std::optional<Rank> ProcessWatch::ended() {
    if (processes_.empty() || poll(processes_.data(), processes_.size(), 0) <= 0)
        return std::nullopt;
    for (std::size_t i = 0; i < processes_.size(); ++i)
        if (processes_[i].revents != 0) return ranks_[i];
    return std::nullopt;
}

}  // namespace tutti
