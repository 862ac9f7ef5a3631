// SPDX-License-Identifier: Apache-2.0
#include "topology/detect/sysfs_host.hpp"

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "base/index.hpp"
#include "topology/detect/sysfs_devices.hpp"
#include "topology/machine/core_of_cpu.hpp"

namespace tutti {
namespace {

using sysfs::Path;

Path cpu_folder(const Path& root, int cpu) {
    return root / "sys/devices/system/cpu" / ("cpu" + std::to_string(cpu));
}

std::vector<int> online_cpus(const Path& root) {
    std::vector<int> cpus = sysfs::list(root / "sys/devices/system/cpu/online");
    if (cpus.empty()) cpus = sysfs::numbered(root / "sys/devices/system/cpu", "cpu");
    if (!cpus.empty()) return cpus;
    for (const std::string& line : sysfs::lines_of(root / "proc/cpuinfo"))
        if (line.starts_with("processor")) cpus.push_back(int_size(cpus));
    return cpus;
}

std::vector<Path> cache_folders(const Path& root, int cpu) {
    std::vector<Path> folders;
    const Path cache = cpu_folder(root, cpu) / "cache";
    for (const int index : sysfs::numbered(cache, "index"))
        folders.push_back(cache / ("index" + std::to_string(index)));
    return folders;
}

// Returns `cpu` alone if the kernel does not say which CPUs share the cache or core.
std::vector<int> sharers_of(const Path& cache, int cpu) {
    std::vector<int> cpus =
        sysfs::list_or_mask(cache / "shared_cpu_list", cache / "shared_cpu_map");
    return cpus.empty() ? std::vector{cpu} : cpus;
}

std::vector<int> siblings_of(const Path& root, int cpu) {
    const Path topology = cpu_folder(root, cpu) / "topology";
    std::vector<int> cpus =
        sysfs::list_or_mask(topology / "thread_siblings_list", topology / "thread_siblings");
    return cpus.empty() ? std::vector{cpu} : cpus;
}

CacheKind cache_kind(const Path& cache) {
    const std::string type = sysfs::first_line(cache / "type").value_or("");
    if (type == "Data") return CacheKind::data;
    if (type == "Instruction") return CacheKind::instruction;
    return CacheKind::unified;
}

// Some platforms report -1 for their only package.
int package_number(const Path& root, int cpu) {
    const auto id = sysfs::number(cpu_folder(root, cpu) / "topology/physical_package_id");
    return static_cast<int>(std::max<std::int64_t>(id.value_or(0), 0));
}

// Returns the lowest CPU that shares the largest shared cache; used to sort cores by cache.
int cache_leader(const Path& root, int cpu) {
    std::size_t widest = 0;
    int leader = cpu;
    for (const Path& cache : cache_folders(root, cpu)) {
        const std::vector<int> sharers = sharers_of(cache, cpu);
        if (sharers.size() <= widest) continue;
        widest = sharers.size();
        leader = sharers.front();
    }
    return leader;
}

std::vector<Core> read_cores(const Path& root) {
    std::map<std::tuple<int, int, int>, Core> in_order;
    for (const int cpu : online_cpus(root)) {
        const std::vector<int> siblings = siblings_of(root, cpu);
        Core& core = in_order[{package_number(root, siblings.front()),
                               cache_leader(root, siblings.front()), siblings.front()}];
        core.threads.push_back(cpu);
    }
    std::vector<Core> cores;
    for (const auto& [place, core] : in_order) cores.push_back(core);
    return cores;
}

std::vector<Package> read_packages(const Path& root, const std::vector<Core>& cores) {
    const std::string model = read_cpu_model(root);
    std::map<int, Package> by_number;
    for (std::size_t i = 0; i < cores.size(); ++i) {
        Package& package = by_number[package_number(root, cores[i].threads.front())];
        package.model = model;
        package.cores.push_back(static_cast<int>(i));
    }
    std::vector<Package> packages;
    for (const auto& [number, package] : by_number) packages.push_back(package);
    return packages;
}

std::vector<Cache> read_caches(const Path& root, const std::vector<Core>& cores) {
    const CoreOfCpu numbers(cores);
    std::vector<Cache> caches;
    for (const Core& core : cores)
        for (const Path& folder : cache_folders(root, core.threads.front())) {
            const auto level = sysfs::number(folder / "level");
            const auto size = sysfs::size(folder / "size");
            if (!level || !std::in_range<std::uint8_t>(*level) || !size) continue;
            const Cache cache{.level = static_cast<int>(*level),
                              .kind = cache_kind(folder),
                              .size = *size,
                              .cores = numbers.of(sharers_of(folder, core.threads.front()))};
            if (std::ranges::find(caches, cache) == caches.end()) caches.push_back(cache);
        }
    return caches;
}

// Reads "Node 0 MemTotal:  4942036 kB" in a node's file or "MemTotal:  4942036 kB" in /proc.
// Impossible amounts are unknown.
Bytes memory_total(const Path& file, const std::string& key) {
    const std::string value = sysfs::value_of(file, key).value_or("0");
    constexpr long long most = 1LL << 40;
    const long long kilobytes = std::strtoll(value.c_str(), nullptr, 10);
    return {0 < kilobytes && kilobytes <= most ? kilobytes * 1024 : 0};
}

// Parses decimal numbers and ARM's "0x41"; 0 for anything else.
int identity_number(const std::string& text) {
    const long number = std::strtol(text.c_str(), nullptr, 0);
    return std::in_range<std::uint16_t>(number) ? static_cast<int>(number) : 0;
}

std::vector<NumaNode> read_numa_nodes(const Path& root, const std::vector<Core>& cores) {
    const CoreOfCpu numbers(cores);
    const Path folder = root / "sys/devices/system/node";
    std::vector<NumaNode> nodes;
    for (const int index : sysfs::numbered(folder, "node")) {
        const std::string name = std::to_string(index);
        const Path node = folder / ("node" + name);
        nodes.push_back(
            {.os_index = index,
             .memory = memory_total(node / "meminfo", "Node " + name + " MemTotal"),
             .cores = numbers.of(sysfs::list_or_mask(node / "cpulist", node / "cpumap"))});
    }
    if (!nodes.empty()) return nodes;

    // A kernel without NUMA: all memory is one node.
    NumaNode all{.os_index = 0, .memory = read_memory(root)};
    for (std::size_t i = 0; i < cores.size(); ++i) all.cores.push_back(static_cast<int>(i));
    return {all};
}

}  // namespace

Bytes read_memory(const Path& root) { return memory_total(root / "proc/meminfo", "MemTotal"); }

std::string read_cpu_model(const Path& root) {
    const Path cpuinfo = root / "proc/cpuinfo";
    if (const auto model = sysfs::value_of(cpuinfo, "model name")) return *model;
    return sysfs::value_of(cpuinfo, "cpu").value_or("");  // POWER
}

CpuIdentity read_cpu_identity(const Path& root) {
    const Path cpuinfo = root / "proc/cpuinfo";
    const auto number = [&](std::string_view key) {
        return identity_number(sysfs::value_of(cpuinfo, key).value_or("0"));
    };
    if (const auto vendor = sysfs::value_of(cpuinfo, "vendor_id"))
        return {.architecture = "x86_64",
                .vendor = *vendor,
                .family = number("cpu family"),
                .model = number("model")};
    if (const auto implementer = sysfs::value_of(cpuinfo, "CPU implementer"))
        return {.architecture = "aarch64",
                .vendor = *implementer,
                .family = number("CPU architecture"),
                .model = number("CPU part")};
    const std::string cpu = sysfs::value_of(cpuinfo, "cpu").value_or("");
    if (cpu.starts_with("POWER"))
        return {
            .architecture = "ppc64le", .vendor = "IBM", .family = identity_number(cpu.substr(5))};
    return {};
}

Host read_sysfs_cores(const Path& root) {
    Host host;
    host.cpu = read_cpu_identity(root);
    host.cores = read_cores(root);
    host.packages = read_packages(root, host.cores);
    host.numa_nodes = read_numa_nodes(root, host.cores);
    host.caches = read_caches(root, host.cores);
    return host;
}

Host read_sysfs_host(const Path& root) { return with_sysfs_devices(read_sysfs_cores(root), root); }

}  // namespace tutti
