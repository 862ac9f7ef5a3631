// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <initializer_list>
#include <limits>
#include <optional>
#include <string_view>
#include <vector>

#include "topology/machine/machine.hpp"

namespace tutti {

/// Place of an element in a PCIe tree.
struct PciePlace {
    std::optional<int> numa_node;
    std::optional<int> above;  ///< position in Host::pcie_switches
};

/// Removes the switches without devices below them; the others keep their order.
void drop_idle_switches(Host& host);

/// Puts all devices of a host with a single NUMA node at that node.
void place_on_only_numa_node(Host& host);

/// The positions of Host::devices and Host::pcie_switches in a file, in their order.
struct WantedOrder {
    static constexpr std::int64_t last = std::numeric_limits<std::int64_t>::max();
    std::vector<std::int64_t> devices, switches;  ///< `last` if not given
};

/// Returns the number after the first of these words that begins one of the device's names
/// ("nvml3", "GPU3"); `last` if there is none.
std::int64_t gpu_number(const Device& device, std::initializer_list<std::string_view> words);

/// Sorts devices and switches by these positions (stable). Switches are not sorted if one would
/// come before the switch above it. Returns the new position of each device. The host must not have
/// links.
std::vector<int> put_in_order(Host& host, const WantedOrder& wanted);

/// Sorts the GPUs among their positions by these numbers, one for each device, then by PCI address;
/// other devices stay. Returns the new position of each device. The host must not have links.
std::vector<int> put_gpus_in_order(Host& host, const std::vector<std::int64_t>& numbers);

}  // namespace tutti
