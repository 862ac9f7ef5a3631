// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/units.hpp"
#include "topology/detect/nvml_library.hpp"

namespace tutti {

/// Returns the root for meters: "/" or, for tests, the folder TUTTI_METERS_ROOT with a made-up
/// /proc and /sys.
std::filesystem::path meters_root();

/// Clock of a CPU in MHz.
struct CpuClock {
    double now = 0;
    double most = 0;  ///< maximum with one busy core
    double base = 0;  ///< guaranteed under load; 0 if unknown
};

/// Returns none if the kernel does not report clocks, as in most virtual machines.
std::optional<CpuClock> cpu_clock(int cpu, const std::filesystem::path& root = meters_root());

/// Returns the CPU time that these CPUs have spent since boot on any program, or on other guests of
/// the hypervisor, in steps of 10 ms. Interrupts are left out, as this program may cause them. None
/// if the kernel does not report it.
std::optional<std::int64_t> busy_ns(const std::vector<int>& cpus,
                                    const std::filesystem::path& root = "/");

/// The kernel's counters since boot of events that disturb measurements; 0 if not counted. The
/// difference of two readings shows what happened in between.
struct HostCounters {
    std::int64_t thermal_throttles = 0;  ///< all cores and packages
    std::int64_t memory_stall_us = 0;    ///< time that some process waited for memory
    std::int64_t cpu_stall_us = 0;       ///< time that some process waited for a CPU
    std::int64_t ticks = 0;              ///< all CPUs, busy or idle
    std::int64_t stolen_ticks = 0;       ///< those that the hypervisor gave to other guests
    std::int64_t swapped_pages = 0;      ///< to disk and back
    std::map<std::string, std::int64_t>
        link_errors;  ///< damaged or lost frames, failed links; by "eth0" or "mlx5_0/1"

    double memory_pressure_pct = 0;  ///< share of the last 10 s that some process waited for memory
    Bytes swap_used;                 ///< now

    bool operator==(const HostCounters&) const = default;
};

HostCounters read_host_counters(const std::filesystem::path& root = meters_root());

/// State of an NVIDIA GPU as its driver reports it.
struct GpuCondition {
    std::string name;                ///< "GPU 0"
    std::string slowed_by;           ///< "heat, power cap"; empty if not slowed
    std::int64_t ecc_corrected = 0;  ///< since the driver was started
    std::int64_t ecc_uncorrected = 0;

    bool operator==(const GpuCondition&) const = default;
};

std::vector<GpuCondition> gpu_conditions(const NvmlLibrary& driver);

}  // namespace tutti
