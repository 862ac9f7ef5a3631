// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "base/units.hpp"

namespace tutti {

/// Settings by the administrator, the launcher or the shell that decide how fast this process
/// communicates. Unknown ones are empty or none.
struct HostSettings {
    struct Interface {
        std::string name;
        double gigabits = 0;  ///< per second; 0 if unknown
        int mtu = 0;
    };
    struct PcieWidth {
        std::string address;
        int lanes = 0, most_lanes = 0;
    };

    std::optional<Bytes> shared_memory, free_shared_memory;  ///< of /dev/shm
    std::optional<Bytes> available_memory;
    std::optional<std::uint64_t> open_files,
        locked_memory;                         ///< this process's limits; none: no limit
    std::string huge_pages;                    ///< transparent: "always", "madvise" or "never"
    std::string governor_driver;               ///< e.g. "acpi-cpufreq", "intel_pstate"
    std::string clock_source;                  ///< e.g. "tsc", "hpet"
    bool balances_numa_nodes = false;          ///< whether the kernel moves pages to other nodes
    std::vector<std::string> rdma_devices;     ///< names
    std::vector<Interface> interfaces;         ///< physical ones that are up
    std::vector<PcieWidth> pcie_widths;        ///< of GPUs and NICs
    std::vector<std::string> nccl_file_lines;  ///< of NCCL's configuration files
};

/// Reads the settings. `root` is "/" or a folder with a copy of another machine's /proc and /sys;
/// the limits are those of this process.
HostSettings host_settings(const std::filesystem::path& root = "/");

}  // namespace tutti
