// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string_view>

#include "topology/machine/machine.hpp"

namespace tutti {

// Data rates of links in 10^9 bytes per second and direction, without headers and encoding. The
// constants are those of NCCL 2.28 (src/graph/topo.h, topo.cc) and, for xGMI, of RCCL, so plans can
// be compared with theirs.

/// Unknown generations count as generation 3, an unknown width as 16 lanes.
double pcie_GBps(PcieLink link);

/// Returns the rate of one NVLink of a GPU with this compute capability (60, 70, 80, 86, 90, 100).
double nvlink_GBps(int compute_capability);

/// Returns the maximum number of NVLinks of such a GPU; of any GPU if it is 0 (unknown).
int most_nvlinks(int compute_capability);

/// Returns the rate of one xGMI link of a GPU with this instruction set ("gfx908", "gfx90a").
double xgmi_GBps(std::string_view gpu);

/// Returns the rate of all `count` links together: the link's own, else that of its GPU's model.
double bandwidth_GBps_of(const Link& link, const Host& host);

/// Returns the rate between two NUMA nodes.
double socket_GBps(const CpuIdentity& cpu);

}  // namespace tutti
