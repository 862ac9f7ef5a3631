// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "collectives/world/world.hpp"
#include "topology/machine/machine.hpp"

namespace tutti {

/// Returns the hosts of all ranks as one machine, in the order of their first rank; only that rank
/// inspects the host. Collective; the result is complete on every rank.
Machine gather_machine(World& world);

}  // namespace tutti
