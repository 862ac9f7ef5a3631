// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "base/units.hpp"
#include "topology/machine/machine.hpp"

namespace tutti {

/// Facts of a host that results files keep. Unknown facts are empty, 0 or none. Usable CPUs and
/// cores are those of this process, which mpirun may have bound.
struct HostFacts {
    std::string name;
    std::string boot_id;
    std::string kernel;
    std::string cpu_model;
    int sockets = 0;
    int cores = 0;
    int smt = 0;  ///< hardware threads of the first core
    std::string governor;
    std::string turbo;  ///< "on" or "off"
    Bytes memory;
    std::vector<int> usable_cpus;
    std::optional<double> cpu_quota;  ///< CPUs' worth of time that the cgroups grant
    int usable_cores = 1;             ///< see usable_cores()
    std::string virtualisation;       ///< "kvm", "vmware", ... or "vm"; empty on bare metal
    std::string container;            ///< "docker", "podman", ...; empty outside
    double loadavg1 = 0;
};

/// Reads the facts. `root` is "/" or a folder with a copy of another machine's /proc and /sys.
HostFacts host_facts(const std::filesystem::path& root = "/");

/// Returns the boot ID of the kernel, which all containers of a machine share; empty if unknown.
std::string boot_id(const std::filesystem::path& root = "/");

/// Returns the CPUs on which this thread may run, ascending.
std::vector<int> usable_cpus();

/// Returns the number of ranks that can run without sharing a core: the cores that this process may
/// use, limited by the cgroups' quota, and at least 1.
int usable_cores();

/// Returns the CPU time that this process's cgroups grant, in CPUs (1.5: one and a half), or none
/// without a limit. Reads cgroup versions 1 and 2, and every group up to the root.
std::optional<double> cpu_quota(const std::filesystem::path& root);

/// Returns the hypervisor, "kvm", "vmware", ..., "vm" if its name is unknown, "" on bare metal.
std::string virtualisation(const std::filesystem::path& root);

/// Returns the container of this process, "docker", "podman", ..., or "".
std::string container(const std::filesystem::path& root);

/// Returns an error if this process cannot map this much more address space (`ulimit -v`), else "".
/// Check it before using libraries that do not check malloc (hwloc, UCX).
std::string missing_address_space(std::size_t mebibytes, const std::string& user);

}  // namespace tutti
