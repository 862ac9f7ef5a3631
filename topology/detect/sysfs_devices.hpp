// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "topology/detect/sysfs.hpp"
#include "topology/machine/machine.hpp"

namespace tutti {

/// Adds PCIe switches, GPUs, NICs, NVSwitches and xGMI links from `root`/sys to a host whose NUMA
/// nodes and cores are known, in the order of their addresses. Switches without such devices are
/// left out. Accelerators that are no GPUs are named in Host::not_seen.
Host with_sysfs_devices(Host host, const sysfs::Path& root);

/// Returns the kind of a PCI device by class (with subclass) and vendor; none for other devices
/// such as disks, bridges and pure display adapters.
std::optional<DeviceKind> device_kind(int pci_class, int pci_vendor);

/// Whether the class (with subclass) is that of accelerators: some GPUs, FPGAs, NPUs.
bool is_accelerator(int pci_class);

/// An accelerator that is no GPU.
struct OtherAccelerator {
    std::string pci_address;
    std::string pci_id;
};

/// Returns a sentence for Host::not_seen that names them.
std::string note_on_accelerators(const std::vector<OtherAccelerator>& accelerators);

/// Returns the interfaces of a NIC: "eth0", "mlx5_0".
std::vector<std::string> interface_names(const sysfs::Path& device);

/// Returns the ports of a NIC; an Ethernet interface and the RDMA device of the same port are one.
/// Like in NCCL and UCX a port is named after its RDMA device (plus ":2" if it has several) or else
/// its interface. The speed is unknown without a link.
std::vector<Port> read_ports(const sysfs::Path& device);

/// Returns virtual interfaces that replace an invisible NIC, without speed (the kernel's is made
/// up). With `has_nic` only the one with the default route; else all that are up and neither part
/// of another interface nor composed of others (bridges, bonds, tunnels).
std::vector<Device> read_virtual_nics(const sysfs::Path& root, bool has_nic);

/// Returns this process's interfaces that are missing from /sys, which then shows another network
/// namespace.
std::vector<std::string> interfaces_not_in_sysfs(const sysfs::Path& root);

/// Adds the xGMI links between AMD GPUs and to processors from the compute driver's /sys/class/kfd
/// to a host whose devices are known.
Host with_sysfs_xgmi(Host host, const sysfs::Path& root);

}  // namespace tutti
