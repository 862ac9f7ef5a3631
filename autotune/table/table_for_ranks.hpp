// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <span>
#include <string>

#include "autotune/table/adapt.hpp"
#include "autotune/table/table.hpp"
#include "collectives/world/world.hpp"

namespace tutti {

/// The table in a file of the first rank's, adapted to these ranks, with fallbacks for what this
/// build lacks. Throws Error, on all ranks alike, if it cannot be read or is of another topology
/// (unless `options` lets it). Collective; the same on all ranks.
Table table_for_ranks(World& world, const std::string& file, AdaptOptions options);

/// The source of "auto" choices for such buffers (none: of the host): "by t.json"; "by built-in
/// rules, as t.json has nothing for buffers of the host" where all sections are of devices.
std::string source_in_words(const Table& table, const std::string& file,
                            std::span<const BufferKind> buffers);

}  // namespace tutti
