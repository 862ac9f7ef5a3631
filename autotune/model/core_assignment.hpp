// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <vector>

#include "topology/placement/placement.hpp"

namespace tutti {

/// Which rank has which host, and which core where a host has more ranks than cores: neighbours
/// share one, as `pin_ranks` has it.
/// Else each rank has a core of its own.
struct CoreAssignment {
    std::vector<int> host_of, core_of;
    int hosts = 0, cores = 0;
    int most_on_core = 1;
    bool is_oversubscribed = false;

    CoreAssignment(const Placement& placement, int ranks, int cores_of_host);
};

}  // namespace tutti
