// SPDX-License-Identifier: Apache-2.0
#include "autotune/model/core_assignment.hpp"

#include <algorithm>

#include "base/rounding.hpp"

namespace tutti {

CoreAssignment::CoreAssignment(const Placement& placement, int ranks, int cores_of_host)
    : host_of(static_cast<std::size_t>(ranks)),
      core_of(static_cast<std::size_t>(ranks)),
      hosts(static_cast<int>(placement.nodes().size())) {
    for (int host = 0; host < hosts; ++host) {
        const auto& members = placement.nodes()[static_cast<std::size_t>(host)];
        const bool is_full = static_cast<int>(members.size()) > cores_of_host;
        is_oversubscribed = is_oversubscribed || is_full;
        const int used = is_full ? cores_of_host : static_cast<int>(members.size());
        for (std::size_t i = 0; i < members.size(); ++i) {
            const auto rank = static_cast<std::size_t>(members[i].index);
            host_of[rank] = host;
            core_of[rank] =
                cores + static_cast<int>(i * static_cast<std::size_t>(used) / members.size());
        }
        cores += used;
        most_on_core = std::max(most_on_core, divide_up(static_cast<int>(members.size()), used));
    }
}

}  // namespace tutti
