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
    return root / ("sys/devices/system/cpu/cpu" + std::to_string(cpu));
}

std::vector<int> online_cpus(const Path& root) {
    std::vector<int> cpus = sysfs::list(root / "sys/devices/system/cpu/online");
    if (cpus.empty()) cpus = sysfs::numbered(root / "sys/devices/system/cpu", "cpu");
    if (!cpus.empty()) return cpus;
    for (const std::string& line : sysfs::lines_of(root / "proc/cpuinfo"))
        if (line.starts_with("processor")) cpus.push_back(int_size(cpus));
    return cpus;
}

// Returns `cpu` and the other CPUs in `list`, or in `mask`, ascending.
std::vector<int> cpus_with(int cpu, const Path& list, const Path& mask) {
    std::vector<int> cpus = sysfs::list_or_mask(list, mask);
    const auto place = std::ranges::lower_bound(cpus, cpu);
    if (place == cpus.end() || *place != cpu) cpus.insert(place, cpu);
    return cpus;
}

CacheKind cache_kind(const Path& cache) {
    const std::string type = sysfs::first_line(cache / "type").value_or("");
    if (type == "Data") return CacheKind::data;
    if (type == "Instruction") return CacheKind::instruction;
    return CacheKind::unified;
}

// Cores are in the order of their first CPU.
std::vector<Core> read_cores(const Path& root) {
    std::vector<Core> cores;
    std::set<int> rest;
    for (const int cpu : online_cpus(root)) rest.insert(cpu);
    while (!rest.empty()) {
        const int first = *rest.begin();
        const Path topology = cpu_folder(root, first) / "topology";
        Core core;
        for (const int cpu :
             cpus_with(first, topology / "thread_siblings_list", topology / "thread_siblings"))
            if (rest.erase(cpu) > 0) core.threads.push_back(cpu);
        cores.push_back(core);
    }
    return cores;
}

// Returns the number of each core's package. One file lists all CPUs of a package.
std::vector<int> read_package_numbers(const Path& root, const std::vector<Core>& cores) {
    std::map<int, int> package_of_cpu;
    std::vector<int> numbers;
    for (const Core& core : cores) {
        const int first = core.threads.front();
        if (!package_of_cpu.contains(first)) {
            const Path topology = cpu_folder(root, first) / "topology";
            const auto id = sysfs::number(topology / "physical_package_id");
            // Some platforms report -1 for their only package.
            const int number = static_cast<int>(std::max<std::int64_t>(id.value_or(0), 0));
            package_of_cpu[first] = number;
            for (const int cpu : sysfs::list(topology / "core_siblings_list"))
                package_of_cpu.try_emplace(cpu, number);
        }
        numbers.push_back(package_of_cpu[first]);
    }
    return numbers;
}

struct CacheOfCpus {
    int level;  // 0 if unknown
    CacheKind kind;
    Bytes size;  // 0 if unknown
    std::vector<int> cpus;
};

// Caches by the number of their folder: cache/indexN of each of their CPUs.
using CachesByIndex = std::map<int, std::vector<CacheOfCpus>>;

const CacheOfCpus* cache_with(int cpu, const std::vector<CacheOfCpus>& caches) {
    const auto found = std::ranges::find_if(caches, [&](const CacheOfCpus& cache) {
        return std::ranges::binary_search(cache.cpus, cpu);
    });
    return found == caches.end() ? nullptr : &*found;
}

// Adds the cache, unless it was already read in the folder of another CPU that shares it.
void add_cache(CachesByIndex& caches, const Path& root, int cpu, int index) {
    if (cache_with(cpu, caches[index])) return;
    const Path cache = cpu_folder(root, cpu) / ("cache/index" + std::to_string(index));
    const std::int64_t level = sysfs::number(cache / "level").value_or(0);
    caches[index].push_back(
        {.level = std::in_range<std::uint8_t>(level) ? static_cast<int>(level) : 0,
         .kind = cache_kind(cache),
         .size = sysfs::size(cache / "size").value_or(Bytes{}),
         .cpus = cpus_with(cpu, cache / "shared_cpu_list", cache / "shared_cpu_map")});
}

std::vector<int> cache_indices(const Path& root, const Core& core) {
    return sysfs::numbered(cpu_folder(root, core.threads.front()) / "cache", "index");
}

// Whether two cores have caches of the same sizes, each for as many CPUs.
bool have_like_caches(const Core& one, const Core& other, const CachesByIndex& caches) {
    return std::ranges::all_of(caches, [&](const auto& of_index) {
        const CacheOfCpus *const first = cache_with(one.threads.front(), of_index.second),
                                 *const second = cache_with(other.threads.front(), of_index.second);
        return first != nullptr && second != nullptr && first->level == second->level &&
               first->size == second->size && first->cpus.size() == second->cpus.size();
    });
}

CachesByIndex read_caches(const Path& root, const std::vector<Core>& cores, PrivateCaches wanted) {
    CachesByIndex caches;
    const auto add = [&](const Core& core, const std::vector<int>& indices) {
        for (const int index : indices) add_cache(caches, root, core.threads.front(), index);
    };
    if (wanted == PrivateCaches::of_two_cores && !cores.empty()) {
        const Core &first = cores.front(), &last = cores.back();
        std::vector<int> indices = cache_indices(root, first);
        add(first, indices);
        add(last, cache_indices(root, last));
        if (!indices.empty() && have_like_caches(first, last, caches)) {
            std::erase_if(indices, [&, of_last_level = indices.back()](int index) {
                return index != of_last_level &&
                       cache_with(first.threads.front(), caches[index])->cpus.size() <=
                           first.threads.size();
            });
            for (const Core& core : cores) add(core, indices);
            return caches;
        }
    }
    for (const Core& core : cores) add(core, cache_indices(root, core));
    return caches;
}

// Returns the lowest CPU that shares the core's most widely shared cache.
int cache_leader(const Core& core, const CachesByIndex& caches) {
    std::size_t widest = 0;
    int leader = core.threads.front();
    for (const auto& [index, of_index] : caches) {
        const CacheOfCpus* cache = cache_with(core.threads.front(), of_index);
        if (!cache || cache->cpus.size() <= widest) continue;
        widest = cache->cpus.size();
        leader = cache->cpus.front();
    }
    return leader;
}

// Caches are in the order of their first core, then of their index.
std::vector<Cache> caches_of(const std::vector<Core>& cores, const CachesByIndex& caches) {
    const CoreOfCpu numbers(cores);
    std::set<const CacheOfCpus*> known;
    std::vector<Cache> in_order;
    for (const Core& core : cores)
        for (const auto& [index, of_index] : caches)
            if (const CacheOfCpus* cache = cache_with(core.threads.front(), of_index);
                cache && cache->level > 0 && cache->size.count > 0 && known.insert(cache).second)
                in_order.push_back({.level = cache->level,
                                    .kind = cache->kind,
                                    .size = cache->size,
                                    .cores = numbers.of(cache->cpus)});
    return in_order;
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

Host read_sysfs_cores(const Path& root, PrivateCaches wanted) {
    const std::vector<Core> cores = read_cores(root);
    const std::vector<int> packages = read_package_numbers(root, cores);
    const CachesByIndex caches = read_caches(root, cores, wanted);
    // Cores of a package, and of a cache, are next to each other.
    std::map<std::tuple<int, int, int>, Core> in_order;
    for (std::size_t i = 0; i < cores.size(); ++i)
        in_order[{packages[i], cache_leader(cores[i], caches), cores[i].threads.front()}] =
            cores[i];
    Host host;
    std::map<int, Package> by_number;
    for (const auto& [place, core] : in_order) {
        by_number[std::get<0>(place)].cores.push_back(int_size(host.cores));
        host.cores.push_back(core);
    }
    for (const auto& [number, package] : by_number) host.packages.push_back(package);
    host.numa_nodes = read_numa_nodes(root, host.cores);
    host.caches = caches_of(host.cores, caches);
    return host;
}

Host read_sysfs_host(const Path& root) {
    Host host = read_sysfs_cores(root, PrivateCaches::of_all_cores);
    host.cpu = read_cpu_identity(root);
    const std::string model = read_cpu_model(root);
    for (Package& package : host.packages) package.model = model;
    return with_sysfs_devices(std::move(host), root);
}

}  // namespace tutti
