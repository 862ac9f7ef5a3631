// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <memory>
#include <vector>

#include "collectives/execute/plan/plan.hpp"
#include "collectives/execute/plan/plan_request.hpp"
#include "collectives/world/shared_plan_memory.hpp"

namespace tutti {

/// Returns a plan that runs the fastest of these plans of the request, as PlanChoice finds out
/// while the plan runs. Takes at most PlanChoice::most_plans, for ranks of one host. The first run
/// uses the first plan, after `memory` is provided. Collective.
std::unique_ptr<Plan> tried_plan(Progress& progress, const PlanRequest& request,
                                 std::vector<std::unique_ptr<Plan>> plans,
                                 SharedPlanMemory& memory);

}  // namespace tutti
