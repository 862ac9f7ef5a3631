// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "autotune/choice/subject.hpp"
#include "collectives/world/gather_machine.hpp"
#include "topology/machine/fingerprint.hpp"

namespace tutti {

JobShape job_shape_of(World& world) {
    std::size_t fullest = 0;
    for (const auto& host : world.hosts().nodes()) fullest = std::max(fullest, host.size());
    return {.ranks = world.size(),
            .ranks_per_host = static_cast<int>(fullest),
            .topology = fingerprint(gather_machine(world))};
}

}  // namespace tutti
