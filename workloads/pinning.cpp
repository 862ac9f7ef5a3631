// SPDX-License-Identifier: Apache-2.0
#include "workloads/pinning.hpp"

#include <sched.h>

#include <algorithm>

#include "topology/detect.hpp"
#include "topology/host_facts.hpp"

namespace tutti {

std::vector<int> cpus_of_cores() {
    const std::vector<int> usable = host_facts().usable_cpus;
    std::vector<int> cpus;
    for (const Core& core : detect_structure().cores)
        for (const int thread : core.threads)
            if (std::ranges::binary_search(usable, thread)) {
                cpus.push_back(thread);
                break;
            }
    return cpus;
}

void run_on(int cpu) {
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(cpu, &one);
    sched_setaffinity(0, sizeof one, &one);
}

bool pin_ranks(World& world) {
    const std::vector<int> cpus = cpus_of_cores();
    std::string mine;
    for (const int cpu : cpus) mine += std::to_string(cpu) + ' ';
    for (const std::string& of_rank : gathered_texts(world, mine))
        if (of_rank != mine) mine.clear();
    const bool can = world.one_host() && !world.crowded && !mine.empty() &&
                     cpus.size() >= static_cast<std::size_t>(world.size());
    for (const char of_rank : gathered(world, static_cast<char>(can)))
        if (of_rank == 0) return false;
    run_on(cpus[static_cast<std::size_t>(world.rank().index)]);
    return true;
}

}  // namespace tutti
