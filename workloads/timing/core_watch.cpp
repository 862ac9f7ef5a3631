// SPDX-License-Identifier: Apache-2.0
#include "workloads/timing/core_watch.hpp"

#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <map>
#include <set>

#include "base/clock.hpp"
#include "base/index.hpp"
#include "collectives/world/host_processes.hpp"
#include "topology/detect/detect.hpp"
#include "topology/detect/sysfs.hpp"
#include "topology/meters/host_counters.hpp"

namespace tutti {
namespace {

// Returns the CPU time of all threads of this process.
std::int64_t process_ns() {
    timespec time{};
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
    return time.tv_sec * std::int64_t{1'000'000'000} + time.tv_nsec;
}

}  // namespace

CoreWatch::CoreWatch(World& world) : world_(world) {
    const auto lists = usable_cpus_of_ranks(world);
    std::set<int> usable;
    for (const Rank rank : world.ranks_of_host())
        for (const int cpu : sysfs::parse_list(lists[as_size(rank)])) usable.insert(cpu);
    for (const Core& core : detect_structure().cores) {
        if (std::ranges::none_of(core.threads, [&](int cpu) { return usable.contains(cpu); }))
            continue;
        ++cores_;
        cpus_.insert(cpus_.end(), core.threads.begin(), core.threads.end());
    }
    before_ = worked();
    began_ns_ = now_ns();
}

CoreWatch::Worked CoreWatch::worked() const {
    struct Process {
        pid_t number;
        std::int64_t ns;
    };
    const auto processes = gather_all(world_, Process{getpid(), process_ns()});
    std::map<pid_t, std::int64_t> ours;  // ranks may be threads of one
    for (const Rank rank : world_.ranks_of_host())
        ours[processes[as_size(rank)].number] = processes[as_size(rank)].ns;
    Worked worked{.all_ns = busy_ns(cpus_)};
    for (const auto& [process, ns] : ours) worked.ours_ns += ns;
    return worked;
}

double CoreWatch::share_of_others() {
    const Worked now = worked();
    const double had_ns = static_cast<double>(now_ns() - began_ns_) * static_cast<double>(cores_);
    double share = 0;
    if (now.all_ns && before_.all_ns && had_ns > 0)
        share =
            static_cast<double>((*now.all_ns - *before_.all_ns) - (now.ours_ns - before_.ours_ns)) /
            had_ns;
    return std::ranges::max(gather_all(world_, std::clamp(share, 0.0, 1.0)));
}

}  // namespace tutti
