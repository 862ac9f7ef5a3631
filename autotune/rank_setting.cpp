// SPDX-License-Identifier: Apache-2.0
#include "autotune/rank_setting.hpp"

#include <algorithm>

#include "collectives/transport/gather_machine.hpp"
#include "topology/fingerprint.hpp"

namespace tutti {

Setting setting_of(World& world) {
    std::size_t fullest = 0;
    for (const auto& host : world.hosts().nodes()) fullest = std::max(fullest, host.size());
    return {.ranks = world.size(),
            .ranks_per_host = static_cast<int>(fullest),
            .topology = fingerprint(gather_machine(world))};
}

}  // namespace tutti
