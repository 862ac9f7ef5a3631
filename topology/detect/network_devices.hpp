// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace tutti {

/// A network interface of this host as /sys shows it.
struct NetworkDevice {
    std::string name;         ///< "eth0"
    std::string network;      ///< "10.0.0.0/24"; interfaces of one network reach the same peers
    std::optional<int> node;  ///< the NUMA node whose PCIe root it is attached to
    long mbit_per_s = 0;      ///< 0: unknown
    bool is_virtual = false;  ///< a bond, VLAN, bridge: no hardware of its own
    bool is_bridge = false;   ///< a software bridge, usually that of containers
};

using NetworkOfInterface = std::map<std::string, std::string>;

/// Returns the IPv4 networks of this host's interfaces.
NetworkOfInterface networks_of_interfaces();

/// Returns the interfaces, except the loopback, that are up and have an address. None if there is
/// InfiniBand, for which UCX determines the distances itself.
std::vector<NetworkDevice> network_devices(
    const std::filesystem::path& root = "/",
    const NetworkOfInterface& networks = networks_of_interfaces());

/// Returns the NUMA node that this rank is bound to; none if it may run on several.
std::optional<int> node_of_this_rank();

/// Returns the devices that a rank on `node` should use if several lead to the same network at the
/// same speed: the near ones, in the format of UCX_NET_DEVICES ("eth0,eth1"). Empty leaves the
/// choice to UCX: if it does not matter or is unknown, or if only a virtual device leads to some
/// network.
std::string near_devices(const std::vector<NetworkDevice>& devices, std::optional<int> node);

/// Returns devices by network that are as fast as the fastest one: large messages may be divided
/// among them. Virtual devices count only if there are no others, as in containers. Empty if
/// another network has only a virtual device that may be as fast, such as a bond.
std::map<std::string, std::string> equal_devices(const std::vector<NetworkDevice>& devices);

}  // namespace tutti
