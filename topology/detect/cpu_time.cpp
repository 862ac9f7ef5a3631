// SPDX-License-Identifier: Apache-2.0
#include "topology/detect/cpu_time.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstdio>

namespace tutti {

std::optional<std::int64_t> busy_ns(const std::vector<int>& cpus, const sysfs::Path& root) {
    std::int64_t ticks = 0;
    bool is_known = false;
    for (const std::string& line : sysfs::lines_of(root / "proc/stat")) {
        int cpu = 0;
        long long user = 0, nice = 0, system = 0, idle = 0, io = 0, irq = 0, soft_irq = 0,
                  steal = 0;
        if (std::sscanf(line.c_str(), "cpu%d %lld %lld %lld %lld %lld %lld %lld %lld", &cpu, &user,
                        &nice, &system, &idle, &io, &irq, &soft_irq, &steal) < 5 ||
            std::ranges::find(cpus, cpu) == cpus.end())
            continue;
        ticks += user + nice + system + steal;
        is_known = true;
    }
    if (!is_known) return std::nullopt;
    return ticks * (1'000'000'000 / sysconf(_SC_CLK_TCK));
}

}  // namespace tutti
