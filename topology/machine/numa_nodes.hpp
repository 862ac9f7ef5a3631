// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string_view>
#include <vector>

#include "topology/machine/machine.hpp"

namespace tutti {

/// Returns NumaNode::kind for hwloc's subtype of a NUMA node: "" for "DRAM".
std::string numa_kind(std::string_view subtype);

/// Leaves each core to one NUMA node, as the kernel does. hwloc gives memory without CPUs (HBM, a
/// GPU's, CXL) the CPUs near it: ordinary memory takes its cores first, then smaller sets of cores,
/// then lower numbers.
void give_each_core_one_node(std::vector<NumaNode>& nodes);

}  // namespace tutti
