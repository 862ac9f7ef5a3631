// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <map>

#include "topology/detect/sysfs_devices.hpp"
#include "topology/import/pcie_tree.hpp"
#include "topology/import/xml.hpp"

namespace tutti {

/// Key of an object in hwloc's matrices: {"OSDev", 802} for "OSDev:802".
using HwlocName = std::pair<std::string, std::int64_t>;

/// A host while it is read from hwloc's objects. In hwloc 1.x a package may be a "Socket", and NUMA
/// nodes contain the cores; in 2 and 3 they are siblings.
struct HwlocHost {
    Host host;
    int format = 2;       ///< major version of the XML format
    std::string version;  ///< version of the hwloc that wrote it: "2.9.0"; empty if unknown
    std::map<HwlocName, LinkEnd> named;  ///< devices and packages, for the matrices
    bool speeds_are_current = false;     ///< the file has PCIe speeds, which are current ones
    std::vector<OtherAccelerator> other_accelerators;
};

/// Returns the value of the object's <info name="..." value="..."/>, or "".
std::string hwloc_info(const XmlElement& object, std::string_view name);

/// Reads a bridge or PCI device and everything below it.
void read_hwloc_pci(const XmlElement& object, const PciePlace& place, HwlocHost& into,
                    const Source& source);

/// Reads the matrices NVLinkBandwidth and XGMIBandwidth.
void read_hwloc_links(const XmlElement& topology, HwlocHost& into, const Source& source);

}  // namespace tutti
