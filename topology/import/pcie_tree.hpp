// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <optional>

#include "base/source.hpp"
#include "topology/machine/machine.hpp"

namespace tutti {

/// Where an element of a PCIe tree hangs.
struct PciePlace {
    std::optional<int> numa_node;
    std::optional<int> above;  ///< position in Host::pcie_switches
};

/// The switches that no device hangs under go; the others keep their order.
void drop_idle_switches(Host& host);

/// On a host with one NUMA node, all devices are near it.
void place_on_only_numa_node(Host& host);

}  // namespace tutti
