// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <limits>
#include <vector>

#include "topology/machine/machine.hpp"

namespace tutti {

/// Where devices and switches belong, as a file says it: for each of Host::devices and
/// Host::pcie_switches, in their order.
struct WantedOrder {
    static constexpr std::int64_t last = std::numeric_limits<std::int64_t>::max();
    std::vector<std::int64_t> devices, switches;  ///< `last` where it does not say
};

/// Equal wishes keep their order. Switches keep theirs too if one would come before the one above
/// it. Returns the new position of each device. The host has no links yet.
std::vector<int> put_in_order(Host& host, const WantedOrder& wanted);

}  // namespace tutti
