// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <optional>
#include <string>

#include "collectives/transport/world.hpp"
#include "results/limits.hpp"

namespace tutti {

/// Why these ranks cannot measure limits; nothing if they can.
std::optional<std::string> limits_refusal(const World& world);

/// What this host can do at its best, in about so many seconds: each figure is the best of several
/// tries, spread over the time. One rank for each core takes part; others sleep meanwhile.
/// Collective; the same result on all ranks. Throws Error where limits_refusal says why.
Limits measure_limits(World& world, double seconds);

}  // namespace tutti
