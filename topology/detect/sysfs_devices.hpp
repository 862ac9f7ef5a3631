// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <optional>

#include "topology/detect/sysfs.hpp"
#include "topology/machine/machine.hpp"

namespace tutti {

/// `host`, of which NUMA nodes and cores are known, with its PCIe switches, GPUs, NICs and
/// NVSwitches as the kernel lists them below `root`/sys, in the order of their addresses, and xGMI
/// links. Switches are listed where a device hangs below them.
Host with_sysfs_devices(Host host, const sysfs::Path& root);

/// What a PCI device with this class (and subclass) and vendor is to us: none for disks, bridges,
/// and for display adapters that only draw.
std::optional<DeviceKind> device_kind(int pci_class, int pci_vendor);

}  // namespace tutti
