// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <memory>
#include <vector>

#include "collectives/execute/plan/plan.hpp"
#include "collectives/execute/plan/plan_request.hpp"

namespace tutti {

/// Makes a plan that runs the request by the fastest of `plans`, which PlanChoice determines at run
/// time: at most PlanChoice::most_plans plans, for ranks of one host, starting with number `guess`.
/// Collective; throws Error on all ranks if one lacks memory.
std::unique_ptr<Plan> tried_plan(Progress& progress, const PlanRequest& request,
                                 std::vector<std::unique_ptr<Plan>> plans, int guess);

}  // namespace tutti
