// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "autotune/choice/subject.hpp"
#include "collectives/world/world.hpp"

namespace tutti {

/// The setting of a world's ranks, which tables are looked up by. Collective: the hosts are looked
/// at, which takes milliseconds.
JobShape job_shape_of(World& world);

}  // namespace tutti
