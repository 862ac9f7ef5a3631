// SPDX-License-Identifier: Apache-2.0
#include "library/plan_admission.hpp"

#include "base/clock.hpp"

namespace tutti {

PlanAdmission::PlanAdmission(int free_plans) : free_plans_(free_plans), began_ns_(now_ns()) {}

std::int64_t PlanAdmission::elapsed_ns() const { return now_ns() - began_ns_; }

}  // namespace tutti
