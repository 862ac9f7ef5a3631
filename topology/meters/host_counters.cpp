// SPDX-License-Identifier: Apache-2.0
#include "topology/meters/host_counters.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <span>
#include <sstream>
#include <utility>

#include "topology/detect/sysfs.hpp"

namespace tutti {
namespace {

using sysfs::Path;

// Every CPU of a core or package has its count; CPUs that were offline missed events, so the
// largest count is right.
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

// Reads "cpu  user nice system idle iowait irq softirq steal guest guest_nice". The last two are
// included in the first two.
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

// Without rx_dropped, which also counts frames of protocols that this host does not use.
constexpr const char* of_interface[] = {"rx_errors", "tx_errors", "rx_missed_errors", "tx_dropped"};
constexpr const char* of_rdma_port[] = {"symbol_error",
                                        "link_error_recovery",
                                        "link_downed",
                                        "port_rcv_errors",
                                        "port_xmit_discards",
                                        "local_link_integrity_errors",
                                        "excessive_buffer_overrun_errors"};

std::int64_t sum_of(const Path& folder, std::span<const char* const> counters) {
    std::int64_t sum = 0;
    for (const char* counter : counters) sum += sysfs::number(folder / counter).value_or(0);
    return sum;
}

std::map<std::string, std::int64_t> link_errors(const Path& root) {
    std::map<std::string, std::int64_t> errors;
    const Path interfaces = root / "sys/class/net", devices = root / "sys/class/infiniband";
    for (const std::string& name : sysfs::entries(interfaces))
        if (name != "lo") errors[name] = sum_of(interfaces / name / "statistics", of_interface);
    for (const std::string& device : sysfs::entries(devices))
        for (const std::string& port : sysfs::entries(devices / device / "ports"))
            errors[device + "/" + port] =
                sum_of(devices / device / "ports" / port / "counters", of_rdma_port);
    return errors;
}

// Bits of NVML's answer. Idle GPUs and clocks set by the user are not problems.
constexpr struct {
    std::uint64_t bits;
    const char* what;
} reasons[] = {
    {0x20 | 0x40, "heat"}, {0x4, "power cap"}, {0x80, "power brake"}, {0x8, "hardware slowdown"}};

std::string describe_slowdown(std::uint64_t mask) {
    std::string words;
    for (const auto& reason : reasons)
        if (mask & reason.bits) words += (words.empty() ? "" : ", ") + std::string(reason.what);
    return words;
}

}  // namespace

std::filesystem::path meters_root() {
    const char* folder = std::getenv("TUTTI_METERS_ROOT");
    return folder != nullptr ? folder : "/";
}

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

std::vector<GpuCondition> gpu_conditions(const NvmlLibrary& driver) {
    std::vector<GpuCondition> all;
    for (int index = 0; index < driver.devices(); ++index) {
        const auto gpu = driver.device(index);
        if (!gpu) continue;
        all.push_back({.name = "GPU " + std::to_string(index),
                       .slowed_by = describe_slowdown(driver.slowdown_reasons(*gpu)),
                       .ecc_corrected = driver.ecc_errors(*gpu, nvml::Ecc::corrected),
                       .ecc_uncorrected = driver.ecc_errors(*gpu, nvml::Ecc::uncorrected)});
    }
    return all;
}

}  // namespace tutti
