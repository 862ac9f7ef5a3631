// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "collectives/world/world.hpp"
#include "topology/detect/network_devices.hpp"
#include "topology/machine/machine.hpp"

namespace tutti {

/// Returns a name that all processes of one host share, and no process of another host.
std::string name_of_this_host();

/// Whether there are more ranks than cores or, in a container, than the CPUs' worth of time that
/// its quota grants.
bool take_turns(int ranks, int cores, std::optional<double> cpu_quota);

/// Returns the CPUs that each rank may use, in rank order, as lists for sysfs::parse_list(): "0,2".
/// Collective.
std::vector<std::string> usable_cpus_of_ranks(World& world);

/// The ranks know this of each other from the start.
struct RanksOnHosts {
    /// The hosts, and the packages, NUMA nodes and caches to which the launcher has bound ranks.
    Placement hosts;
    std::vector<std::uint64_t> processes;  ///< see World::processes
    /// Whether some machine runs more of these processes than it has cores. The same on all ranks,
    /// because it decides how they synchronize.
    bool are_oversubscribed = false;
    int links = 1;  ///< see World::links
};

/// Returns cores, packages, NUMA nodes and caches of this host by /proc and /sys, read once. Unlike
/// hwloc's detection, that does not look at devices, which takes milliseconds.
const Host& cores_of_this_host();

/// Returns the network interfaces of this host, read once.
const std::vector<NetworkDevice>& cards_of_this_host();

/// Asks all ranks, in a single exchange. `name_of_host` is equal on the ranks of one host. Numbers
/// the hosts in the order of their first rank. `devices` are the network interfaces of this host
/// that count as links. Collective.
RanksOnHosts ranks_on_hosts(World& world, std::string_view name_of_host,
                            const Host& structure = cores_of_this_host(),
                            const std::vector<NetworkDevice>& devices = {});

}  // namespace tutti
