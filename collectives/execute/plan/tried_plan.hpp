// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <memory>
#include <vector>

#include "collectives/execute/plan/plan.hpp"
#include "collectives/execute/plan/plan_request.hpp"

namespace tutti {

/// A plan that does the call of the request by whichever of these plans of it is the fastest, as
/// PlanChoice finds out while it runs: at most PlanChoice::most_plans, of ranks of one host, first
/// by that of number `guess`. Collective; throws Error on all ranks if one lacks memory.
std::unique_ptr<Plan> tried_plan(Progress& progress, const PlanRequest& request,
                                 std::vector<std::unique_ptr<Plan>> plans, int guess);

}  // namespace tutti
