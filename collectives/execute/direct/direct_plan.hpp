// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <memory>

#include "collectives/execute/plan/plan.hpp"
#include "collectives/execute/plan/plan_request.hpp"

namespace tutti {

/// Compiles one rank's part to be run where ranks can load and store each other's memory. No
/// messages: a rank shows how many steps it has finished in a counter of its own cache line, reads
/// its peers' chunks where they are (or where they are staged, or through the kernel), combines all
/// that arrive in a step in one pass, and stores the result to all who want it. See
/// docs/shared_memory.md. Collective; throws Error if the ranks' memory cannot be shared.
std::unique_ptr<Plan> direct_plan(Progress& progress, const PlanRequest& request);

}  // namespace tutti
