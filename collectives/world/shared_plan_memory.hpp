// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "collectives/world/reachable_memory.hpp"
#include "collectives/world/world.hpp"

namespace tutti {

/// The memory that a plan shares with the ranks of its host. All parts of a plan ask for theirs
/// before one exchange of the ranks provides it.
class SharedPlanMemory {
public:
    /// Takes memory of the ranks of `world`; those of other hosts have none.
    using Use = std::function<void(std::unique_ptr<ReachableMemory>)>;

    explicit SharedPlanMemory(World& world) : world_(world) {}

    /// Asks for `mine` bytes of this rank, see SharedPieces. All ranks ask equally often.
    void ask(std::size_t mine, Use use) {
        sizes_.push_back(mine);
        uses_.push_back(std::move(use));
    }

    /// Makes provide() fail on all ranks, because this one lacks memory for its part of the plan.
    void lacks_memory() { lacks_memory_ = true; }

    /// Hands the memory to all that have asked for it, then calls `finish`. If this fails on any
    /// rank, all throw Error, whose text begins with `what`. Collective, in two exchanges; one if
    /// nothing was asked for.
    void provide(
        const std::string& what, const std::function<void()>& finish = [] {});

private:
    World& world_;
    bool lacks_memory_ = false;
    std::vector<std::size_t> sizes_;
    std::vector<Use> uses_;
};

}  // namespace tutti
