// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <map>

#include "topology/import/pcie_tree.hpp"
#include "topology/import/xml.hpp"

namespace tutti {

/// What hwloc calls an object by in its matrices: "OSDev:802" is {"OSDev", 802}.
using HwlocName = std::pair<std::string, std::int64_t>;

/// A host as it grows out of hwloc's objects. Types are those of hwloc 2 and 3; in 1.x a package
/// may be a "Socket", and NUMA nodes hold the cores instead of standing beside them.
struct HwlocHost {
    Host host;
    int format = 2;       ///< the major version of the XML; its own, not hwloc's
    std::string version;  ///< of the hwloc that looked at the machine: "2.9.0"; empty if not known
    std::map<HwlocName, LinkEnd> named;  ///< devices and packages, for the matrices
    bool speeds_are_current = false;     ///< some PCIe speed was given
};

/// <info name="..." value="..."/> of an object; empty where there is none.
std::string hwloc_info(const XmlElement& object, std::string_view name);

/// A bridge or PCI device and all below it.
void read_hwloc_pci(const XmlElement& object, const PciePlace& place, HwlocHost& into,
                    const Source& source);

/// NVLinkBandwidth and XGMIBandwidth.
void read_hwloc_links(const XmlElement& topology, HwlocHost& into, const Source& source);

}  // namespace tutti
