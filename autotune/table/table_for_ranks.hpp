// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <span>
#include <string>

#include "autotune/table/adapt.hpp"
#include "autotune/table/table.hpp"
#include "collectives/world/world.hpp"

namespace tutti {

/// Reads the table in the first rank's file, adapted to these ranks, with fallbacks for what this
/// build lacks. Throws Error on all ranks if it cannot be read or was made on another topology
/// (unless `options` allows that). Collective; the same on all ranks.
Table table_for_ranks(World& world, const std::string& file, AdaptOptions options);

/// Returns the source of "auto" choices for such buffers (none: host buffers): "by t.json", or "by
/// built-in rules, as t.json has nothing for buffers of the host" if all sections are for devices.
std::string describe_source(const Table& table, const std::string& file,
                            std::span<const BufferKind> buffers);

}  // namespace tutti
