// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "collectives/execute/direct/direct_program.hpp"
#include "collectives/world/world.hpp"

namespace tutti {

/// Tells all ranks what this one has to say of pushes, and hears what they say of it. Collective.
PushNegotiation negotiate_pushes(World& world, PushFacts told);

}  // namespace tutti
