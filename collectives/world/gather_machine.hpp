// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "collectives/world/world.hpp"
#include "topology/machine/machine.hpp"

namespace tutti {

/// The hosts of all ranks as one machine, in the order of their first rank; each host is looked at
/// by that rank alone. Collective; complete on every rank.
Machine gather_machine(World& world);

}  // namespace tutti
