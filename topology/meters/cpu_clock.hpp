// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <filesystem>
#include <optional>

#include "topology/meters/meters_root.hpp"

namespace tutti {

/// How fast a CPU runs, in MHz.
struct CpuClock {
    double now = 0;
    double most = 0;  ///< what it may reach alone
    double base = 0;  ///< what it promises under any load; 0: the kernel does not say
};

/// None where the kernel does not say, as in most virtual machines.
std::optional<CpuClock> cpu_clock(int cpu, const std::filesystem::path& root = meters_root());

}  // namespace tutti
