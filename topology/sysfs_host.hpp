// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "topology/machine.hpp"
#include "topology/sysfs.hpp"

namespace tutti {

/// The host as the kernel describes it below `root`/proc and `root`/sys: no name, no notes.
/// Where /sys is empty (some sandboxes), each processor of /proc/cpuinfo counts as a core.
Host read_sysfs_host(const sysfs::Path& root);

/// "AMD EPYC 7402 24-Core Processor"; empty where the kernel does not say (most of ARM).
std::string read_cpu_model(const sysfs::Path& root);

/// GPUs and NICs on the PCI bus, in the order of their addresses.
std::vector<Device> read_sysfs_devices(const sysfs::Path& root);

/// What a PCI device with this class and vendor is to us: none for disks, bridges, and for display
/// adapters that only draw.
std::optional<DeviceKind> device_kind(int pci_class, int pci_vendor);

}  // namespace tutti
