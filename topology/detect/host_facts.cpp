// SPDX-License-Identifier: Apache-2.0
#include "topology/detect/host_facts.hpp"

#include <sched.h>
#include <sys/utsname.h>

#include <algorithm>

#include "base/index.hpp"
#include "topology/detect/sysfs.hpp"
#include "topology/detect/sysfs_host.hpp"

namespace tutti {
namespace {

// Returns "on" or "off": whether cores may exceed their base clock; "" if no driver says so.
std::string turbo(const std::filesystem::path& cpus) {
    if (const auto no_turbo = sysfs::first_line(cpus / "intel_pstate/no_turbo"))
        return *no_turbo == "0" ? "on" : "off";
    if (const auto boost = sysfs::first_line(cpus / "cpufreq/boost"))
        return *boost == "0" ? "off" : "on";
    return "";
}

int count_usable(const std::vector<Core>& cores, const std::vector<int>& cpus,
                 std::optional<double> quota) {
    const auto usable = [&](int cpu) { return std::ranges::binary_search(cpus, cpu); };
    const auto count = static_cast<double>(std::ranges::count_if(
        cores, [&](const Core& core) { return std::ranges::any_of(core.threads, usable); }));
    return std::max(static_cast<int>(std::min(count, quota.value_or(count))), 1);
}

}  // namespace

// Tries larger and larger masks: the kernel refuses one that is too small and does not report its
// number of CPUs.
std::vector<int> usable_cpus() {
    for (std::size_t masks = 1; masks <= 1024; masks *= 2) {
        std::vector<cpu_set_t> mask(masks);
        const std::size_t bytes = masks * sizeof(cpu_set_t);
        if (sched_getaffinity(0, bytes, mask.data()) != 0) continue;
        std::vector<int> cpus;
        for (int cpu = 0; cpu < static_cast<int>(masks) * CPU_SETSIZE; ++cpu)
            if (CPU_ISSET_S(cpu, bytes, mask.data())) cpus.push_back(cpu);
        return cpus;
    }
    return {};
}

std::string boot_id(const std::filesystem::path& root) {
    return sysfs::first_line(root / "proc/sys/kernel/random/boot_id").value_or("");
}

HostFacts host_facts(const std::filesystem::path& root) {
    const Host host = read_sysfs_cores(root);
    const std::vector<int> cpus = usable_cpus();
    const std::optional<double> quota = cpu_quota(root);
    utsname system{};
    uname(&system);
    return {
        .name = system.nodename,
        .boot_id = boot_id(root),
        .kernel = sysfs::first_line(root / "proc/sys/kernel/osrelease").value_or(""),
        .cpu_model = read_cpu_model(root),
        .sockets = int_size(host.packages),
        .cores = int_size(host.cores),
        .smt = host.cores.empty() ? 0 : static_cast<int>(host.cores.front().threads.size()),
        .governor = sysfs::first_line(root / "sys/devices/system/cpu/cpu0/cpufreq/scaling_governor")
                        .value_or(""),
        .turbo = turbo(root / "sys/devices/system/cpu"),
        .memory = read_memory(root),
        .usable_cpus = cpus,
        .cpu_quota = quota,
        .usable_cores = count_usable(host.cores, cpus, quota),
        .virtualisation = virtualisation(root),
        .container = container(root),
        .loadavg1 = sysfs::leading_number(root / "proc/loadavg"),
    };
}

int usable_cores() { return host_facts().usable_cores; }

}  // namespace tutti
