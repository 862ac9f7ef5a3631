// SPDX-License-Identifier: Apache-2.0
#include <sys/mman.h>

#include <algorithm>
#include <sstream>
#include <string_view>

#include "topology/detect/host_facts.hpp"
#include "topology/detect/sysfs.hpp"

namespace tutti {
namespace {

using sysfs::Path;

// Reads "150000 100000" as 1.5 CPUs; "max 100000" is no limit.
std::optional<double> quota_v2(const Path& group) {
    std::istringstream text(sysfs::first_line(group / "cpu.max").value_or("max"));
    double quota = 0, period = 0;
    if (!(text >> quota >> period) || quota <= 0 || period <= 0) return std::nullopt;
    return quota / period;
}

// A quota of -1 is no limit.
std::optional<double> quota_v1(const Path& group) {
    const auto quota = sysfs::number(group / "cpu.cfs_quota_us");
    const auto period = sysfs::number(group / "cpu.cfs_period_us");
    if (!quota || !period || *quota <= 0 || *period <= 0) return std::nullopt;
    return static_cast<double>(*quota) / static_cast<double>(*period);
}

// Checks the group and all groups above it, as each limits those below. In a container inner groups
// may be invisible; the mounted root is then the container's own group.
template <class Quota>
void take_smallest(std::optional<double>& smallest, const Path& mount, Path group, Quota quota_of) {
    for (;; group = group.parent_path()) {
        const auto quota = quota_of(mount / group.relative_path());
        if (quota) smallest = std::min(smallest.value_or(*quota), *quota);
        if (!group.has_relative_path()) return;
    }
}

bool names_cpu(const std::string& controllers) {
    std::istringstream list(controllers);
    for (std::string name; std::getline(list, name, ',');)
        if (name == "cpu") return true;
    return false;
}

struct Sign {
    std::string_view text;
    std::string_view name;
};

}  // namespace

std::optional<double> cpu_quota(const Path& root) {
    const Path mounts = root / "sys/fs/cgroup";
    std::optional<double> smallest;
    // Lines are "number:controllers:/group"; version 2 has no controllers.
    for (const std::string& line : sysfs::lines_of(root / "proc/self/cgroup")) {
        std::istringstream fields(line);
        std::string number, controllers, group;
        std::getline(fields, number, ':');
        std::getline(fields, controllers, ':');
        std::getline(fields, group);
        if (controllers.empty()) take_smallest(smallest, mounts, group, quota_v2);
        if (names_cpu(controllers)) take_smallest(smallest, mounts / controllers, group, quota_v1);
    }
    return smallest;
}

std::string virtualisation(const Path& root) {
    const auto flags = sysfs::value_of(root / "proc/cpuinfo", "flags");  // x86 only
    if (flags && (" " + *flags + " ").find(" hypervisor ") == std::string::npos) return "";

    const Path dmi = root / "sys/class/dmi/id";
    const std::string product = sysfs::first_line(dmi / "product_name").value_or("");
    const std::string maker = sysfs::first_line(dmi / "sys_vendor").value_or("") + " " + product;
    if (product.ends_with(".metal")) return "";  // Amazon's bare-metal instances
    constexpr Sign signs[] = {
        {"KVM", "kvm"},           {"QEMU", "qemu"},
        {"Amazon EC2", "amazon"}, {"Google", "google"},
        {"VMware", "vmware"},     {"Microsoft Corporation Virtual", "hyper-v"},
        {"Xen", "xen"},           {"VirtualBox", "virtualbox"},
    };
    for (const Sign& sign : signs)
        if (maker.find(sign.text) != std::string::npos) return std::string(sign.name);
    if (const auto type = sysfs::first_line(root / "sys/hypervisor/type")) return *type;
    return flags ? "vm" : "";
}

std::string container(const Path& root) {
    if (const auto name = sysfs::first_line(root / "run/systemd/container")) return *name;
    constexpr Sign signs[] = {
        {".dockerenv", "docker"}, {"run/.containerenv", "podman"}, {".singularity.d", "apptainer"}};
    std::error_code unreadable;
    for (const Sign& sign : signs)
        if (std::filesystem::exists(root / sign.text, unreadable)) return std::string(sign.name);
    return "";
}

std::string missing_address_space(std::size_t mebibytes, const std::string& user) {
    const std::size_t bytes = mebibytes << 20;
    void* const space = mmap(nullptr, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (space == MAP_FAILED)
        return user + " needs " + std::to_string(mebibytes) +
               " MiB of free address space; use 'ulimit -v unlimited'";
    munmap(space, bytes);
    return "";
}

}  // namespace tutti
