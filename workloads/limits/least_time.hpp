// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <vector>

#include "collectives/execute/plan/layout.hpp"
#include "results/records/key.hpp"
#include "results/records/limits.hpp"
#include "topology/placement/placement.hpp"
#include "workloads/timing/input_state.hpp"

namespace tutti {

/// Whether ranks can load and store each other's buffers.
enum class Reach { registered, unregistered };

/// The least time in ns that a call can take on this machine, whatever the algorithm; 0 where there
/// is nothing to do. docs/background/limits.md has the formulas, and says which parts are bounds
/// and which estimates. A measured time is below it by noise only. Of rewritten input reductions
/// have to fetch each line from who wrote it; limits that do not know_rewritten_input() give the
/// time of untouched input.
double least_time(const Limits& limits, const Call& call, int ranks, bool in_place, Reach reach,
                  InputState input = InputState::untouched);

/// The same for ranks on these hosts. On several it is the greater of two bounds: what the fullest
/// host has to do with its memory for its own ranks, and what has to cross the network between the
/// hosts (see least_time_between). 0 where the limits know nothing of so many hosts.
double least_time(const Limits& limits, const Call& call, const Placement& hosts, bool in_place,
                  Reach reach, InputState input = InputState::untouched);

/// The same for a measured call.
double least_time(const Limits& limits, const Key& key, const Placement& hosts);

/// The least bytes that a call moves between hosts, whatever the algorithm: out of each host and
/// into it, and over all hosts together (as many leave as come). Partial results of a host are
/// combined before they leave, and are taken to be no smaller than what they are made of.
struct Crossing {
    std::vector<double> out, in;
    double total = 0;
};

Crossing least_crossing(const Call& call, const Placement& hosts);

/// The least time in ns that the call needs between hosts: until the bytes that some host must send
/// or receive have passed at its bandwidth, or all bytes at that of all hosts together; and one-way
/// over the network. Bursts pass at once. For all_reduce of n bytes between H alike hosts: latency
/// + 2 (H - 1) / H n / B (Patarasuk and Yuan 2009, with hosts for processes).
double least_time_between(const HostNetwork& network, const Call& call, const Placement& hosts);

}  // namespace tutti
