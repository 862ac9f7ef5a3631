// SPDX-License-Identifier: Apache-2.0
#include "cli/doctor/checks.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <set>
#include <sstream>

#include "base/index.hpp"

namespace tutti {
namespace {

using Seen = std::optional<Answer>;

// Enough for the shared memory of a rank's plans and of a registered buffer of some MiB.
constexpr Bytes shared_memory_of_rank{128 << 20};
// Enough for the buffers that a rank registers with an RDMA device.
constexpr Bytes locked_memory_of_rank{1 << 30};
// Descriptors that a rank needs for itself and for each other rank.
constexpr std::uint64_t files_of_rank = 64, files_of_peer = 8;

// Unlike an option, a variable may have empty items.
std::vector<std::string> words_of(const std::string& list) {
    std::vector<std::string> words;
    std::istringstream stream(list);
    for (std::string word; std::getline(stream, word, ',');)
        if (!word.empty()) words.push_back(word);
    return words;
}

bool is_in(const std::string& word, const std::vector<std::string>& words) {
    return std::ranges::find(words, word) != words.end();
}

bool has_any(const std::vector<std::string>& words, const std::vector<std::string>& wanted) {
    return std::ranges::any_of(words, [&](const std::string& word) { return is_in(word, wanted); });
}

// Returns whether a list of components leaves out shared memory: "a,b" includes components, and has
// none of `parts`; or "^a,b" excludes them, and has one of the names of `all` parts.
bool leaves_out(const std::string& list, const std::vector<std::string>& parts,
                const std::vector<std::string>& all) {
    if (list.empty()) return false;
    if (list.starts_with('^')) return has_any(words_of(list.substr(1)), all);
    return !has_any(words_of(list), parts);
}

// Returns the number of cores that the host's ranks may use.
int cores_of_all(const HostCondition& on) {
    std::set<int> all;
    for (const CoreSet& own : on.cores_of_ranks) all.insert(own.begin(), own.end());
    return int_size(all);
}

Seen cores(const HostCondition& on) {
    const int cores = int_size(on.host.cores);
    Answer answer{fmt::format("{} on {}", counted(on.ranks(), "rank"), counted(cores, "core"))};
    if (on.ranks() > cores)
        answer.cure = "start at most one rank per core: ranks that wait take time from the others";
    return answer;
}

// Reports ranks that share too few cores although the host has enough.
Seen binding(const HostCondition& on) {
    if (on.ranks() < 2) return std::nullopt;
    std::map<CoreSet, int> ranks_on;
    for (const CoreSet& own : on.cores_of_ranks) ++ranks_on[own];
    for (const auto& [own, ranks] : ranks_on)
        if (ranks > int_size(own) && on.ranks() <= int_size(on.host.cores))
            return Answer{
                fmt::format("{} ranks are bound to {} of the host's {} cores", ranks, own.size(),
                            on.host.cores.size()),
                "bind each rank to its own cores: Open MPI --bind-to core (with threads: --map-by "
                "slot:PE=N), MPICH -bind-to core, srun --cpu-bind=cores; in a container, "
                "allow more CPUs"};
    return Answer{"each rank has a core"};
}

Seen numa_nodes_of_ranks(const HostCondition& on) {
    const auto nodes_of = [&](const CoreSet& own) {
        return std::ranges::count_if(on.host.numa_nodes, [&](const NumaNode& node) {
            return std::ranges::find_first_of(node.cores, own) != node.cores.end();
        });
    };
    if (on.ranks() < 2 || on.host.numa_nodes.size() < 2) return std::nullopt;
    std::ptrdiff_t most = 0;
    for (const CoreSet& own : on.cores_of_ranks) most = std::max(most, nodes_of(own));
    if (most < 2) return Answer{"each rank stays on its NUMA node"};
    return Answer{fmt::format("a rank may move between {} NUMA nodes, away from its memory", most),
                  "bind each rank to one NUMA node: Open MPI --bind-to numa, or --bind-to core for "
                  "one thread per rank"};
}

Seen cpu_time(const HostCondition& on) {
    if (!on.facts.cpu_quota) return Answer{"no limit on CPU time"};
    const int cores = cores_of_all(on);
    Answer answer{fmt::format("the cgroup grants the time of {:g} CPUs, for {} on {}",
                              *on.facts.cpu_quota, counted(on.ranks(), "rank"),
                              counted(cores, "core"))};
    if (*on.facts.cpu_quota < std::min(cores, on.ranks()))
        answer.cure =
            "raise the limit to one CPU per rank (docker --cpus, Kubernetes limits.cpu); otherwise "
            "the kernel stops the ranks in a part of each 100 ms";
    return answer;
}

Seen threads(const HostCondition& on) {
    const std::int64_t threads = std::atoi(on.variable("OMP_NUM_THREADS").c_str());
    if (threads < 1) return std::nullopt;
    const int cores = cores_of_all(on);
    Answer answer{fmt::format("OMP_NUM_THREADS={}, {} on {}", threads, counted(on.ranks(), "rank"),
                              counted(cores, "core"))};
    if (threads > 1 && threads * on.ranks() > cores)
        answer.cure = fmt::format("OMP_NUM_THREADS={}", std::max(1, cores / on.ranks()));
    return answer;
}

// A rank of this command may count as load already.
Seen other_programs(const HostCondition& on) {
    const double free = on.facts.cores - on.facts.loadavg1;
    Answer answer{fmt::format("load {:.1f} on {} cores", on.facts.loadavg1, on.facts.cores)};
    if (on.facts.loadavg1 > on.ranks() && free < on.ranks())
        answer.cure = "stop the other programs (top shows them), or measure on another host";
    return answer;
}

Seen shared_memory_size(const HostCondition& on) {
    const auto &all = on.settings.shared_memory, &free = on.settings.free_shared_memory;
    if (!all || !free) return std::nullopt;
    const Bytes needed{shared_memory_of_rank.count * on.ranks()};
    Answer answer{
        fmt::format("/dev/shm has {}, of which {} are free", describe(*all), describe(*free))};
    if (all->count < needed.count)
        answer.cure = fmt::format(
            "docker run --shm-size={0} (or --ipc=host), or mount -o remount,size={0} /dev/shm: the "
            "ranks may need {1}",
            std::bit_ceil(static_cast<std::uint64_t>(needed.count)), describe(needed));
    else if (free->count < needed.count)
        answer.cure =
            fmt::format("remove what ended programs have left in /dev/shm: the ranks may need {}",
                        describe(needed));
    return answer;
}

Seen shared_memory(const HostCondition& on) {
    if (!on.was_tried || on.has_other_hosts || on.ranks() < 2) return std::nullopt;
    if (!on.sharing_refused) return Answer{"the ranks share memory"};
    return Answer{"the ranks cannot share memory: " + *on.sharing_refused,
                  "start all ranks of a host in one container, or with --ipc=host"};
}

Seen memory_of_peers(const HostCondition& on) {
    if (!on.was_tried || on.ranks() < 2) return std::nullopt;
    if (!on.copying_refused) return Answer{"ranks can copy from and to each other's memory"};
    return Answer{"ranks cannot copy from and to each other's memory: " + *on.copying_refused,
                  on.copying_refused->find("other processes") != std::string::npos
                      ? "start all ranks of a host in one container, or with --pid=host"
                      : "docker run --cap-add=SYS_PTRACE, or sysctl kernel.yama.ptrace_scope=0; "
                        "otherwise large messages are copied twice"};
}

Seen free_memory(const HostCondition& on) {
    const Bytes all = on.facts.memory;
    const auto& free = on.settings.available_memory;
    if (!free || all.count <= 0) return std::nullopt;
    Answer answer{fmt::format("{} of {} of memory are free", describe(*free), describe(all))};
    if (free->count < all.count / 20)
        answer.cure = "end programs that use memory: the kernel is about to swap";
    return answer;
}

Seen huge_pages(const HostCondition& on) {
    if (on.settings.huge_pages.empty()) return std::nullopt;
    Answer answer{"transparent huge pages: " + on.settings.huge_pages};
    if (on.settings.huge_pages == "never")
        answer.cure =
            "echo madvise > /sys/kernel/mm/transparent_hugepage/enabled: large buffers "
            "then need 512 times fewer TLB entries";
    return answer;
}

// The drivers of recent processors raise the clock with `powersave`, too.
Seen governor(const HostCondition& on) {
    if (on.facts.governor.empty()) return std::nullopt;
    Answer answer{"CPU frequency governor " + on.facts.governor};
    const bool is_slow = on.facts.governor == "powersave" &&
                         on.settings.governor_driver.find("pstate") == std::string::npos;
    if (is_slow) answer.cure = "cpupower frequency-set -g performance";
    return answer;
}

Seen clock_source(const HostCondition& on) {
    if (on.settings.clock_source.empty()) return std::nullopt;
    Answer answer{"clock source " + on.settings.clock_source};
    if (is_in(on.settings.clock_source, {"hpet", "acpi_pm", "jiffies", "refined-jiffies", "pit"}))
        answer.cure =
            "find out why the kernel rejected tsc (dmesg | grep -i tsc), and boot with "
            "tsc=reliable "
            "only if it is stable; with this source, reading the clock is a system call";
    return answer;
}

Seen numa_balancing(const HostCondition& on) {
    if (on.host.numa_nodes.size() < 2) return std::nullopt;
    if (!on.settings.balances_numa_nodes)
        return Answer{"the kernel leaves pages on their NUMA node"};
    return Answer{
        "automatic NUMA balancing is on: the kernel unmaps pages to see which node uses them",
        "sysctl kernel.numa_balancing=0 if ranks are bound"};
}

Seen open_files(const HostCondition& on) {
    if (!on.settings.open_files) return Answer{"no limit on open files"};
    const std::uint64_t needed =
        files_of_rank + files_of_peer * static_cast<std::uint64_t>(on.ranks());
    Answer answer{fmt::format("at most {} open files", *on.settings.open_files)};
    if (*on.settings.open_files < needed)
        answer.cure = fmt::format("ulimit -n {}", std::max<std::uint64_t>(1024, needed));
    return answer;
}

// Registered memory of an RDMA device is locked.
Seen locked_memory(const HostCondition& on) {
    if (on.settings.rdma_devices.empty()) return std::nullopt;
    if (!on.settings.locked_memory) return Answer{"no limit on locked memory"};
    const Bytes most{static_cast<std::int64_t>(*on.settings.locked_memory)};
    Answer answer{fmt::format("at most {} of locked memory, in which {} has its buffers",
                              describe(most), on.settings.rdma_devices.front())};
    if (most < locked_memory_of_rank)
        answer.cure =
            "ulimit -l unlimited, also for the daemon that starts the ranks (LimitMEMLOCK)";
    return answer;
}

Seen ucx(const HostCondition& on) {
    if (on.ucx_transports.empty() && on.why_no_ucx.empty()) return std::nullopt;
    if (!on.why_no_ucx.empty())
        return Answer{on.why_no_ucx, "run UCX_LOG_LEVEL=info ucx_info -d, which prints the reason"};
    Answer answer{fmt::format("UCX uses {}", fmt::join(on.ucx_transports, " "))};
    const bool has_rdma = std::ranges::any_of(on.ucx_transports, [](const std::string& one) {
        return one.starts_with("rc") || one.starts_with("dc") || one.starts_with("ud");
    });
    if (!on.settings.rdma_devices.empty() && !has_rdma)
        answer.cure = fmt::format(
            "unset UCX_TLS and UCX_NET_DEVICES, or add the container's access to "
            "/dev/infiniband: UCX does not use {}",
            on.settings.rdma_devices.front());
    return answer;
}

Seen ucx_within_host(const HostCondition& on) {
    const std::string list = on.variable("UCX_TLS");
    if (list.empty()) return std::nullopt;
    Answer answer{"UCX_TLS=" + list};
    if (on.ranks() > 1 &&
        leaves_out(list, {"all", "shm", "sm", "mm", "posix", "sysv", "cma", "xpmem", "knem"},
                   {"shm", "sm", "all"}))
        answer.cure =
            "add shm to UCX_TLS; without it, ranks of a host communicate over the network";
    return answer;
}

Seen ucx_devices(const HostCondition& on) {
    const std::string list = on.variable("UCX_NET_DEVICES");
    if (list.empty() || list == "all") return std::nullopt;
    std::vector<std::string> known = on.settings.rdma_devices;
    for (const HostSettings::Interface& one : on.settings.interfaces) known.push_back(one.name);
    Answer answer{"UCX_NET_DEVICES=" + list};
    for (const std::string& device : words_of(list))
        if (!is_in(device.substr(0, device.find(':')), known))
            answer.cure = fmt::format("{} is not a device of this host; use one of: {}", device,
                                      fmt::join(known, " "));
    return answer;
}

Seen openmpi_within_host(const HostCondition& on) {
    const std::string list = on.variable("OMPI_MCA_btl");
    if (list.empty()) return std::nullopt;
    Answer answer{"OMPI_MCA_btl=" + list};
    if (on.ranks() > 1 && leaves_out(list, {"vader", "sm"}, {"vader", "sm"}))
        answer.cure =
            "unset OMPI_MCA_btl, or allow vader (Open MPI 4) or sm (5); without it, ranks of a "
            "host communicate over the network";
    return answer;
}

Seen openmpi_single_copy(const HostCondition& on) {
    for (const char* name : {"OMPI_MCA_btl_vader_single_copy_mechanism", "OMPI_MCA_smsc"})
        if (const std::string value = on.variable(name);
            value == "none" || value == "^cma,knem,xpmem")
            return Answer{
                fmt::format("{}={}", name, value),
                fmt::format("if memory of peers can be read (see above), unset {}; until then, "
                            "large messages are copied twice",
                            name)};
    return std::nullopt;
}

Seen mtu(const HostCondition& on) {
    constexpr double fast = 25;  // Gbit/s
    constexpr int of_ethernet = 1500, jumbo = 9000;
    if (!on.has_other_hosts) return std::nullopt;
    for (const HostSettings::Interface& one : on.settings.interfaces)
        if (one.gigabits >= fast && one.mtu <= of_ethernet && !one.name.starts_with("ib"))
            return Answer{
                fmt::format("{} of {:g} Gbit/s has an MTU of {}", one.name, one.gigabits, one.mtu),
                fmt::format("ip link set {} mtu {}, if all hosts and switches allow it", one.name,
                            jumbo)};
    return Answer{"the MTU fits the speed of each interface"};
}

Seen pcie_width(const HostCondition& on) {
    if (on.settings.pcie_widths.empty()) return std::nullopt;
    for (const HostSettings::PcieWidth& one : on.settings.pcie_widths)
        if (one.lanes > 0 && one.lanes < one.most_lanes)
            return Answer{
                fmt::format("device {} uses {} of {} PCIe lanes", one.address, one.lanes,
                            one.most_lanes),
                "look at the slot, the riser and the BIOS; lspci -vv shows LnkSta and LnkCap"};
    return Answer{"all devices use all their PCIe lanes"};
}

// The environment takes precedence over NCCL's files.
Seen nccl(const HostCondition& on) {
    std::map<std::string, std::string> active;
    for (const std::string& line : on.settings.nccl_file_lines)
        if (const auto equals = line.find('='); equals != line.npos)
            active[line.substr(0, equals)] = line.substr(equals + 1) + " (file)";
    for (const auto& [name, value] : on.environment)
        if (name.starts_with("NCCL_")) active[name] = value;
    if (active.empty()) return std::nullopt;
    std::vector<std::string> all, harmful;
    for (const auto& [name, value] : active) {
        all.push_back(name + "=" + value);
        const bool is_off =
            is_in(name, {"NCCL_P2P_DISABLE", "NCCL_SHM_DISABLE", "NCCL_IB_DISABLE"}) &&
            !value.starts_with('0');
        const bool is_forced =
            is_in(name, {"NCCL_ALGO", "NCCL_PROTO", "NCCL_MAX_NCHANNELS", "NCCL_MAX_CTAS"});
        const bool is_slow =
            name == "NCCL_DEBUG" && (value.starts_with("TRACE") || value.starts_with("INFO"));
        if (is_off || is_forced || is_slow) harmful.push_back(name);
    }
    Answer answer{fmt::format("set for NCCL: {}", fmt::join(all, " "))};
    if (!harmful.empty())
        answer.cure = fmt::format("unset {}, unless you have measured that NCCL is faster with it",
                                  fmt::join(harmful, " "));
    return answer;
}

constexpr HostCheck rows[] = {
    {"cores", cores},
    {"binding", binding},
    {"NUMA nodes", numa_nodes_of_ranks},
    {"CPU time", cpu_time},
    {"threads", threads},
    {"other programs", other_programs},
    {"shared memory size", shared_memory_size},
    {"shared memory", shared_memory},
    {"memory of peers", memory_of_peers},
    {"free memory", free_memory},
    {"huge pages", huge_pages},
    {"governor", governor},
    {"clock", clock_source},
    {"NUMA balancing", numa_balancing},
    {"open files", open_files},
    {"locked memory", locked_memory},
    {"UCX", ucx},
    {"UCX within a host", ucx_within_host},
    {"UCX devices", ucx_devices},
    {"Open MPI within a host", openmpi_within_host},
    {"Open MPI's single copy", openmpi_single_copy},
    {"MTU", mtu},
    {"PCIe lanes", pcie_width},
    {"NCCL", nccl},
};

}  // namespace

std::string HostCondition::variable(const std::string& name) const {
    const auto found = environment.find(name);
    return found == environment.end() ? "" : found->second;
}

std::span<const HostCheck> checks() { return rows; }

}  // namespace tutti
