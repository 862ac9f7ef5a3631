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
    std::optional<int> node;  ///< the NUMA node whose PCIe root it hangs on
    long mbit_per_s = 0;      ///< 0: unknown
    bool is_virtual = false;  ///< a bond, VLAN, bridge: no hardware of its own
};

using NetworkOfInterface = std::map<std::string, std::string>;

/// The networks (IPv4) that the interfaces of this host are in.
NetworkOfInterface networks_of_interfaces();

/// Interfaces but the loopback that are up and have an address. None where there is InfiniBand, for
/// which UCX knows the distances itself.
std::vector<NetworkDevice> network_devices(
    const std::filesystem::path& root = "/",
    const NetworkOfInterface& networks = networks_of_interfaces());

/// The NUMA node that this rank is bound to; none if it may run on several.
std::optional<int> node_of_this_rank();

/// Which devices a rank on `node` should use where several lead to the same network at the same
/// speed: the near ones, as UCX_NET_DEVICES takes them ("eth0,eth1"). Empty where it does not
/// matter or is not known, or where only a virtual device leads to some network: the choice is
/// UCX's.
std::string near_devices(const std::vector<NetworkDevice>& devices, std::optional<int> node);

}  // namespace tutti
