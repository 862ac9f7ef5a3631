// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "collectives/world/reachable_memory.hpp"
#include "collectives/world/world.hpp"

namespace tutti {

/// Memory that the ranks of one host share, for the data of a plan (counters, lines, slots).
/// Small pieces come from arenas of the ranks' processes, which stay mapped, so that a new plan or
/// a new communicator of the same processes maps nothing. A piece returns to its arena when all its
/// ranks have released it.
class SharedPieces {
public:
    /// Each rank contributes as many parts, of its own sizes (zeroed, aligned to cache lines).
    /// `lacks_memory`: the rank has none for its own part of the work, and contributes nothing.
    /// Collective, in a single exchange. Throws Error on all ranks if one lacks memory, and on this
    /// rank alone if it cannot map that of a peer: the ranks must agree on that afterwards.
    SharedPieces(World& world, std::span<const std::size_t> mine, bool lacks_memory = false);

    std::unique_ptr<ReachableMemory> part(std::size_t number) const;

    /// To be called after that agreement: releases what only served to map the memory.
    void all_have_mapped();

    class Piece;

private:
    Rank me_;
    std::shared_ptr<Piece> piece_;
};

/// Returns the only part of a piece.
std::unique_ptr<ReachableMemory> shared_piece(World& world, std::size_t mine);

}  // namespace tutti
