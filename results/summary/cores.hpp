// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <algorithm>

#include "results/records/launch.hpp"

namespace tutti {

/// From this load per core on, before a launch begins, a host is busy with other programs.
inline constexpr double busy_share = 0.75;

/// The cores that the ranks of a launch may use; 0: unknown.
inline double available_cores(const Launch& launch) {
    double cores = 0;
    for (const HostRecord& host : launch.hosts)
        cores += host.cgroup_cpus > 0 ? std::min<double>(host.cores, host.cgroup_cpus) : host.cores;
    return cores;
}

inline bool is_oversubscribed(const Launch& launch) {
    const double cores = available_cores(launch);
    return cores > 0 && launch.nranks > cores;
}

}  // namespace tutti
