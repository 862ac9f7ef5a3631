// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <filesystem>
#include <map>
#include <string>

#include "base/units.hpp"
#include "topology/meters/meters_root.hpp"

namespace tutti {

/// What the kernel has counted on this host since it started, of all that disturbs a measurement.
/// What it does not count stays 0. Two of these tell what happened in between.
struct HostCounters {
    std::int64_t thermal_throttles = 0;  ///< of all cores and packages
    std::int64_t memory_stall_us = 0;    ///< while some process waited for memory
    std::int64_t cpu_stall_us = 0;       ///< while some process waited for a CPU
    std::int64_t ticks = 0;              ///< of all CPUs, whatever they did
    std::int64_t stolen_ticks = 0;       ///< of these, what the hypervisor gave to others
    std::int64_t swapped_pages = 0;      ///< to disk and back
    std::map<std::string, std::int64_t> link_errors;  ///< by "eth0" or "mlx5_0/1"

    double memory_pressure_pct = 0;  ///< of the last 10 s: some process waited for memory
    Bytes swap_used;                 ///< now

    bool operator==(const HostCounters&) const = default;
};

HostCounters read_host_counters(const std::filesystem::path& root = meters_root());

}  // namespace tutti
