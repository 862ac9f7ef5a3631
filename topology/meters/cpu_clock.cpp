// SPDX-License-Identifier: Apache-2.0
#include "topology/meters/cpu_clock.hpp"

#include "topology/detect/sysfs.hpp"

namespace tutti {

std::optional<CpuClock> cpu_clock(int cpu, const std::filesystem::path& root) {
    const auto folder = root / "sys/devices/system/cpu" / ("cpu" + std::to_string(cpu)) / "cpufreq";
    const auto megahertz = [&](const char* file) {  // the files are in kHz
        return static_cast<double>(sysfs::number(folder / file).value_or(0)) / 1000;
    };
    const CpuClock clock{.now = megahertz("scaling_cur_freq"),
                         .most = megahertz("cpuinfo_max_freq"),
                         .base = megahertz("base_frequency")};
    if (clock.now <= 0 || clock.most <= 0) return std::nullopt;
    return clock;
}

}  // namespace tutti
