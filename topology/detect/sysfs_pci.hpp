// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>
#include <vector>

#include "topology/detect/sysfs.hpp"
#include "topology/machine/machine.hpp"

namespace tutti {

/// One function of a PCI device as the kernel lists it. Numbers are 0 where unknown.
struct PciFunction {
    std::string address;  ///< "0000:17:00.0"
    sysfs::Path folder;   ///< its files, in the tree of devices
    int vendor = 0;
    int device = 0;
    int device_class = 0;                   ///< class and subclass: 0x0302
    std::vector<std::string> bridges = {};  ///< ports above it, the root port first
};

/// All of the bus, in the order of addresses. Virtual functions are left out where the real one
/// shows its interfaces.
std::vector<PciFunction> read_pci_functions(const sysfs::Path& root);

/// "vendor:device", or nothing where the kernel says neither.
std::string pci_id(const PciFunction& function);

/// The same of the board or chip that it is part of.
std::string subsystem_id(const PciFunction& function);

/// At most what the function and the port above it can do both. Not the current speed: that of an
/// idle GPU is generation 1.
PcieLink max_pcie_link(const PciFunction& function);

/// The upstream ports of the switches above a function, the nearest first. Each switch is two
/// bridges: its upstream port and the downstream port that leads on; the first bridge is a root
/// port. NCCL counts alike.
std::vector<std::string> switches_above(const PciFunction& function);

/// Of a device in the tree, by what the firmware says or by the cores near it.
std::optional<int> numa_node_of(const sysfs::Path& device, const Host& host);

}  // namespace tutti
