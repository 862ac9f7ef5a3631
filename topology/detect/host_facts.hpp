// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "base/units.hpp"

namespace tutti {

/// What a results file keeps of a host, so that a reader can evaluate its times. What is unknown is
/// empty, 0 or none. What is usable holds for this process: mpirun may have narrowed it.
struct HostFacts {
    std::string name;
    std::string boot_id;
    std::string kernel;
    std::string cpu_model;
    int sockets = 0;
    int cores = 0;
    int smt = 0;  ///< hardware threads of the first core
    std::string governor;
    Bytes memory;
    std::vector<int> usable_cpus;
    std::optional<double> cpu_quota;  ///< CPUs' worth of time that the cgroups grant
    int usable_cores = 1;             ///< see the function of that name
    std::string virtualisation;       ///< "kvm", "vmware", ... or "vm"; empty on bare metal
    std::string container;            ///< "docker", "podman", ...; empty outside
    double loadavg1 = 0;
};

/// `root` is "/", or a folder that holds a copy of another machine's /proc and /sys.
HostFacts host_facts(const std::filesystem::path& root = "/");

/// How many ranks can run at once without sharing a core: the cores whose threads this process may
/// use, cut to what the cgroups grant; at least 1.
int usable_cores();

}  // namespace tutti
