// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>
#include <vector>

#include "topology/detect/sysfs.hpp"
#include "topology/machine/machine.hpp"

namespace tutti {

/// The interfaces of a NIC: "eth0", "mlx5_0".
std::vector<std::string> interface_names(const sysfs::Path& device);

/// Its ways out, an Ethernet interface and the RDMA device of the same port as one. A port is
/// called by its RDMA device, as NCCL and UCX do, with ":2" behind it where there are several; or
/// by its interface. Its speed is unknown while it has no link.
std::vector<Port> read_ports(const sysfs::Path& device);

/// Interfaces of software that stand for a NIC which is not shown: where `has_nic` is false, those
/// that are up and neither part of another one nor made of others (bridges, bonds, tunnels); else
/// only one that has the default route. Their speeds are the kernel's invention: unknown.
std::vector<Device> read_virtual_nics(const sysfs::Path& root, bool has_nic);

/// Interfaces of this process that are not in /sys: it shows another network namespace.
std::vector<std::string> interfaces_not_in_sysfs(const sysfs::Path& root);

}  // namespace tutti
