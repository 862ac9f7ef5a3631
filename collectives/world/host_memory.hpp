// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>
#include <memory>

#include "collectives/world/reachable_memory.hpp"
#include "collectives/world/world.hpp"

namespace tutti {

/// Returns the ranks of this rank's host as a world, which may be `world` itself. It is made on
/// first use, which is collective, and lives as long as `world`.
World& host_world(World& world);

/// Returns memory of the ranks of this rank's host, addressed by the ranks of `world`: those of
/// other hosts have none.
std::unique_ptr<ReachableMemory> for_world(const World& world,
                                           std::unique_ptr<ReachableMemory> of_host);

/// Returns memory that the ranks of each host share, see SharedMemory; for `world` as above.
/// Collective.
std::unique_ptr<ReachableMemory> host_memory(World& world, std::size_t mine);

}  // namespace tutti
