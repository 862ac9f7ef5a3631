// SPDX-License-Identifier: Apache-2.0
#include "collectives/world/shared_plan_memory.hpp"

#include <optional>

#include "collectives/world/host_memory.hpp"
#include "collectives/world/shared_piece.hpp"

namespace tutti {

void SharedPlanMemory::provide(const std::string& what, const std::function<void()>& finish) {
    const bool asks = !sizes_.empty() || lacks_memory_;
    World* const host = asks ? &host_world(world_) : nullptr;
    std::optional<SharedPieces> pieces;
    make_on_all_ranks(world_, what, [&] {
        if (host != nullptr) pieces.emplace(*host, sizes_, lacks_memory_);
        for (std::size_t part = 0; part < uses_.size(); ++part)
            uses_[part](for_world(world_, pieces->part(part)));
        finish();
        return true;
    });
    if (pieces) pieces->all_have_mapped();
}

}  // namespace tutti
