// SPDX-License-Identifier: Apache-2.0
#include "topology/meters/host_counters.hpp"

#include <cstdlib>
#include <sstream>

#include "topology/detect/sysfs.hpp"
#include "topology/meters/link_errors.hpp"

namespace tutti {
namespace {

using sysfs::Path;

std::int64_t thermal_throttles(const Path& root) {
    const Path cpus = root / "sys/devices/system/cpu";
    std::int64_t all = 0;
    for (const int cpu : sysfs::numbered(cpus, "cpu"))
        for (const char* file : {"core_throttle_count", "package_throttle_count"})
            all += sysfs::number(cpus / ("cpu" + std::to_string(cpu)) / "thermal_throttle" / file)
                       .value_or(0);
    return all;
}

// The value of "name=value" in "some avg10=0.00 avg60=0.00 avg300=0.00 total=0".
double of_some(const Path& pressure, std::string_view name) {
    std::istringstream words(sysfs::first_line(pressure).value_or(""));
    for (std::string word; words >> word;)
        if (word.starts_with(name) && word[name.size()] == '=')
            return std::strtod(word.c_str() + name.size() + 1, nullptr);
    return 0;
}

std::int64_t stall_us(const Path& pressure) {
    return static_cast<std::int64_t>(of_some(pressure, "total"));
}

// "cpu  user nice system idle iowait irq softirq steal guest guest_nice": the last two are parts of
// the first two.
void read_ticks(const Path& root, HostCounters& counters) {
    constexpr int columns = 8, steal = 7;
    std::istringstream words(sysfs::first_line(root / "proc/stat").value_or(""));
    std::string cpu;
    words >> cpu;
    std::int64_t ticks = 0;
    for (int column = 0; column < columns && words >> ticks; ++column) {
        counters.ticks += ticks;
        if (column == steal) counters.stolen_ticks = ticks;
    }
}

std::int64_t swapped_pages(const Path& root) {
    std::int64_t pages = 0;
    for (const std::string& line : sysfs::lines_of(root / "proc/vmstat"))
        if (line.starts_with("pswpin ") || line.starts_with("pswpout "))
            pages += std::strtoll(line.c_str() + line.find(' '), nullptr, 10);
    return pages;
}

// "123 kB"
Bytes of_meminfo(const Path& root, const char* name) {
    const std::string text = sysfs::value_of(root / "proc/meminfo", name).value_or("0");
    return {std::strtoll(text.c_str(), nullptr, 10) * 1024};
}

}  // namespace

HostCounters read_host_counters(const Path& root) {
    const Path pressure = root / "proc/pressure";
    HostCounters counters{
        .thermal_throttles = thermal_throttles(root),
        .memory_stall_us = stall_us(pressure / "memory"),
        .cpu_stall_us = stall_us(pressure / "cpu"),
        .swapped_pages = swapped_pages(root),
        .link_errors = link_errors(root),
        .memory_pressure_pct = of_some(pressure / "memory", "avg10"),
        .swap_used = {of_meminfo(root, "SwapTotal").count - of_meminfo(root, "SwapFree").count}};
    read_ticks(root, counters);
    return counters;
}

}  // namespace tutti
