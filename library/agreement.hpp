// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "collectives/world/world.hpp"
#include "library/call_key.hpp"
#include "tutti/communicator.hpp"

namespace tutti {

/// Throws Error (a rank is lost), on all ranks alike, where ranks ask for different calls: plans
/// are made together, so the ranks would deadlock. Collective.
void check_same_call(World& world, const CallKey& key);

/// Throws Error, on all ranks alike, where ranks were given different tables or learn differently:
/// they would make plans by different algorithms, and deadlock. Collective.
void check_same_options(World& world, const CommunicatorOptions& options);

}  // namespace tutti
