// SPDX-License-Identifier: Apache-2.0
#include "topology/meters/host_counters.hpp"

#include <algorithm>
#include <cstdlib>
#include <optional>
#include <sstream>
#include <utility>

#include "topology/detect/sysfs.hpp"
#include "topology/meters/link_errors.hpp"

namespace tutti {
namespace {

using sysfs::Path;

// All CPUs of a core or package count what happens to it: the largest count is its own.
std::int64_t thermal_throttles(const Path& root) {
    const Path cpus = root / "sys/devices/system/cpu";
    constexpr std::int64_t whole_package = -1;  // in place of a core
    std::map<std::pair<std::int64_t, std::int64_t>, std::int64_t> counts;
    for (const int cpu : sysfs::numbered(cpus, "cpu")) {
        const Path folder = cpus / ("cpu" + std::to_string(cpu));
        const auto number = [&](const char* file) { return sysfs::number(folder / file); };
        const auto package = number("topology/physical_package_id").value_or(0);
        const auto core = number("topology/core_id").value_or(cpu);
        const auto add = [&](std::int64_t part, const char* file) {
            std::int64_t& most = counts[{package, part}];
            most = std::max(most, number(file).value_or(0));
        };
        add(core, "thermal_throttle/core_throttle_count");
        add(whole_package, "thermal_throttle/package_throttle_count");
    }
    std::int64_t all = 0;
    for (const auto& [part, count] : counts) all += count;
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
