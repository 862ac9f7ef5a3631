// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>
#include <vector>

#include "collectives/planner/planner.hpp"
#include "workloads/bench/buffer_pool.hpp"

namespace tutti {

/// Buffers for a search_space of these transports (by name, "all" as none). Of the first whose
/// plans run on devices, so that it finds them registered; with none, of each rank's own GPU, and
/// all goes by messages. What it makes throws Error on all ranks alike if there is no GPU or not so
/// much memory. `planner` outlives it.
DeviceBuffers device_buffers(Planner& planner, const std::vector<std::string>& transports);

}  // namespace tutti
