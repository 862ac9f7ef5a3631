// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>

#include "autotune/table/fitted.hpp"
#include "collectives/world/world.hpp"

namespace tutti {

/// The table in a file of the first rank's, fitted to these ranks, with fallbacks for what this
/// build lacks. Throws Error, on all ranks alike, if it cannot be read or is of another topology
/// (unless `options` lets it). Collective; the same on all ranks.
Table table_for_ranks(World& world, const std::string& file, FitOptions options);

}  // namespace tutti
