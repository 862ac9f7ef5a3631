// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <vector>

#include "collectives/execute/plan/layout.hpp"
#include "results/limits.hpp"
#include "topology/placement/placement.hpp"

namespace tutti {

/// The least bytes that a call moves between hosts, whatever the algorithm: out of each host and
/// into it, and over all hosts together (as many leave as come). Partial results of a host are
/// combined before they leave, and are taken to be no smaller than what they are made of.
struct Crossing {
    std::vector<double> out, in;
    double total = 0;
};

Crossing least_crossing(const Call& call, const Placement& hosts);

/// The least time in ns that the call needs between hosts: until the bytes that some host must send
/// or receive have passed at its bandwidth, or all bytes at that of all hosts together; and one way
/// over the network. Bursts pass at once. For all_reduce of n bytes between H alike hosts: latency
/// + 2 (H - 1) / H n / B (Patarasuk and Yuan 2009, with hosts for processes).
double least_time_between(const HostNetwork& network, const Call& call, const Placement& hosts);

}  // namespace tutti
