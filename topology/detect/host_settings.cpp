// SPDX-License-Identifier: Apache-2.0
#include "topology/detect/host_settings.hpp"

#include <sys/resource.h>
#include <sys/statvfs.h>

#include <algorithm>
#include <cstdlib>

#include "topology/detect/sysfs.hpp"

namespace tutti {
namespace {

using sysfs::Path;

std::optional<std::uint64_t> limit_of(int resource) {
    rlimit limit{};
    if (getrlimit(static_cast<__rlimit_resource_t>(resource), &limit) != 0 ||
        limit.rlim_cur == RLIM_INFINITY)
        return std::nullopt;
    return limit.rlim_cur;
}

// Reads "23 kB".
std::optional<Bytes> available_memory(const Path& root) {
    const auto text = sysfs::value_of(root / "proc/meminfo", "MemAvailable");
    if (!text) return std::nullopt;
    return Bytes{std::strtoll(text->c_str(), nullptr, 10) * 1024};
}

// Returns the word in brackets of "always [madvise] never".
std::string chosen_word(const Path& file) {
    const std::string line = sysfs::first_line(file).value_or("");
    const std::size_t begin = line.find('['), end = line.find(']');
    return begin < end && end != line.npos ? line.substr(begin + 1, end - begin - 1) : "";
}

// Only interfaces of devices, which are up.
std::vector<HostSettings::Interface> interfaces_of(const Path& root) {
    std::vector<HostSettings::Interface> found;
    const Path all = root / "sys/class/net";
    for (const std::string& name : sysfs::entries(all)) {
        std::error_code none;
        if (!std::filesystem::exists(all / name / "device", none)) continue;
        if (sysfs::first_line(all / name / "operstate").value_or("") != "up") continue;
        const auto megabits = sysfs::number(all / name / "speed").value_or(0);
        const auto mtu = sysfs::number(all / name / "mtu").value_or(0);
        found.push_back(
            {name, megabits > 0 ? static_cast<double>(megabits) / 1000 : 0, static_cast<int>(mtu)});
    }
    return found;
}

// Classes of PCI devices: 02 is a network controller, 03 a display, 12 an accelerator.
std::vector<HostSettings::PcieWidth> pcie_widths_of(const Path& root) {
    std::vector<HostSettings::PcieWidth> found;
    const Path all = root / "sys/bus/pci/devices";
    for (const std::string& address : sysfs::entries(all)) {
        const std::string of_class = sysfs::first_line(all / address / "class").value_or("");
        const bool counts =
            std::ranges::any_of(std::initializer_list<const char*>{"0x02", "0x03", "0x12"},
                                [&](const char* one) { return of_class.starts_with(one); });
        const auto lanes = sysfs::number(all / address / "current_link_width"),
                   most = sysfs::number(all / address / "max_link_width");
        if (counts && lanes && most)
            found.push_back({address, static_cast<int>(*lanes), static_cast<int>(*most)});
    }
    return found;
}

std::vector<std::string> nccl_lines_of(const Path& root) {
    std::vector<Path> files{root / "etc/nccl.conf"};
    if (const char* const home = std::getenv("HOME"); home != nullptr && root == "/")
        files.push_back(Path(home) / ".nccl.conf");
    std::vector<std::string> lines;
    for (const Path& file : files)
        for (const std::string& line : sysfs::lines_of(file))
            if (line.starts_with("NCCL_")) lines.push_back(line);
    return lines;
}

}  // namespace

HostSettings host_settings(const Path& root) {
    HostSettings settings{
        .available_memory = available_memory(root),
        .open_files = limit_of(RLIMIT_NOFILE),
        .locked_memory = limit_of(RLIMIT_MEMLOCK),
        .huge_pages = chosen_word(root / "sys/kernel/mm/transparent_hugepage/enabled"),
        .governor_driver =
            sysfs::first_line(root / "sys/devices/system/cpu/cpu0/cpufreq/scaling_driver")
                .value_or(""),
        .clock_source =
            sysfs::first_line(root /
                              "sys/devices/system/clocksource/clocksource0/current_clocksource")
                .value_or(""),
        .balances_numa_nodes =
            sysfs::number(root / "proc/sys/kernel/numa_balancing").value_or(0) != 0,
        .rdma_devices = sysfs::entries(root / "sys/class/infiniband"),
        .interfaces = interfaces_of(root),
        .pcie_widths = pcie_widths_of(root),
        .nccl_file_lines = nccl_lines_of(root),
    };
    struct statvfs space {};
    if (statvfs((root / "dev/shm").c_str(), &space) == 0) {
        const auto bytes_of = [&](auto blocks) {
            return Bytes{static_cast<std::int64_t>(blocks * space.f_frsize)};
        };
        settings.shared_memory = bytes_of(space.f_blocks);
        settings.free_shared_memory = bytes_of(space.f_bavail);
    }
    return settings;
}

}  // namespace tutti
