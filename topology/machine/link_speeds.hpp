// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string_view>

#include "topology/machine/machine.hpp"

namespace tutti {

/// What links carry, in 10^9 bytes per second and direction, as far as data goes (headers and
/// encoding taken off). The constants are those that NCCL 2.28 plans with (src/graph/topo.h,
/// topo.cc) and, for xGMI, RCCL's; so a plan made from them can be set against the libraries'.

/// Unknown generations count as generation 3, an unknown width as 16 lanes.
double pcie_GBps(PcieLink link);

/// One NVLink of a GPU of that compute capability (60, 70, 80, 86, 90, 100).
double nvlink_GBps(int compute_capability);

/// No GPU of that compute capability has more NVLinks; the most of any where it is 0 (unknown).
int most_nvlinks(int compute_capability);

/// One xGMI link of a GPU of that instruction set ("gfx908", "gfx90a", "gfx942").
double xgmi_GBps(std::string_view gpu);

/// All `count` links together: what the link says, else what those of its GPU carry.
double bandwidth_GBps_of(const Link& link, const Host& host);

/// From one NUMA node to another, whichever way they are joined.
double socket_GBps(const CpuIdentity& cpu);

}  // namespace tutti
