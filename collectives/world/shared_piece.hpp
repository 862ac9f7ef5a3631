// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>
#include <memory>

#include "collectives/world/reachable_memory.hpp"
#include "collectives/world/world.hpp"

namespace tutti {

/// Returns memory that the ranks of one host share, for the data of a plan (counters, lines,
/// slots). Every rank contributes `mine` bytes (sizes may differ; zeroed, aligned to cache lines).
/// Small pieces come from arenas that the world keeps, so that a new one costs a single exchange;
/// they return there when the object ends, which must not outlive the world. Collective. Throws
/// Error as SharedMemory does.
std::unique_ptr<ReachableMemory> shared_piece(World& world, std::size_t mine);

}  // namespace tutti
