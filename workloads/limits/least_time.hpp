// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "collectives/execute/plan/layout.hpp"
#include "results/limits.hpp"
#include "topology/placement/placement.hpp"

namespace tutti {

/// Whether ranks can load and store each other's buffers.
enum class Reach { registered, unregistered };

/// The least time in ns that a call can take on this machine, whatever the algorithm; 0 where there
/// is nothing to do. Derived from what was measured: docs/background/limits.md has the formulas, and says
/// which parts are bounds and which estimates. Never beaten by more than noise while repeated calls
/// find their data where the calls before left it.
double least_time(const Limits& limits, const Call& call, int ranks, bool in_place, Reach reach);

/// The same for ranks on these hosts. On several it is the greater of two bounds: what the fullest
/// host has to do with its memory for its own ranks, and what has to cross the network between the
/// hosts (see network_bound.hpp). 0 where the limits know nothing of so many hosts.
double least_time(const Limits& limits, const Call& call, const Placement& hosts, bool in_place,
                  Reach reach);

}  // namespace tutti
