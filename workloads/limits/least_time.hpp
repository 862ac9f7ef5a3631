// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <vector>

#include "collectives/execute/plan/layout.hpp"
#include "collectives/schedule/crossing.hpp"
#include "results/records/key.hpp"
#include "results/records/limits.hpp"
#include "topology/placement/placement.hpp"
#include "workloads/timing/measure.hpp"

namespace tutti {

/// Whether ranks can load and store each other's buffers.
enum class Reach { registered, unregistered };

/// Returns the least time in ns that a call can take on this machine with any algorithm; 0 if there
/// is nothing to do. docs/background/limits.md has the formulas, and says which parts are bounds
/// and which are estimates. Only noise makes a measured time smaller. With rewritten input,
/// reductions fetch each line from the core that wrote it; limits that do not
/// know_rewritten_input() give the time of untouched input.
double least_time(const Limits& limits, const Call& call, int ranks, bool in_place, Reach reach,
                  InputState input = InputState::untouched);

/// Returns the same for ranks on these hosts. On several hosts it is the greater of two bounds: the
/// memory traffic of the host with the most ranks, and the traffic between hosts (see
/// least_time_between). 0 if the limits have no values for this many hosts.
double least_time(const Limits& limits, const Call& call, const Placement& hosts, bool in_place,
                  Reach reach, InputState input = InputState::untouched);

/// Returns the same for a measured call.
double least_time(const Limits& limits, const Key& key, const Placement& hosts);

/// Returns the least that a call moves between hosts with any algorithm, in bytes.
LeastCrossing least_crossing(const Call& call, const Placement& hosts);

/// Returns the least time in ns that the call needs between hosts: until the bytes that some host
/// must send or receive have passed at its bandwidth, or all bytes at the bandwidth of all hosts
/// together, plus one latency of the network. Bursts pass at once. For all_reduce of n bytes
/// between H equal hosts: latency + 2 (H - 1) / H n / B (Patarasuk and Yuan 2009, with hosts for
/// processes).
double least_time_between(const HostNetwork& network, const Call& call, const Placement& hosts);

}  // namespace tutti
