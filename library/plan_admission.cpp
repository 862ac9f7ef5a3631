// SPDX-License-Identifier: Apache-2.0
#include "library/plan_admission.hpp"

#include "base/clock.hpp"

namespace tutti {

PlanAdmission::PlanAdmission(int free_plans) : free_plans_(free_plans), began_ns_(now_ns()) {}

bool PlanAdmission::can_afford(World& world, std::int64_t spent_ns) const {
    constexpr std::int64_t credit_ns = 30'000'000, share = 100;
    struct Times {
        std::int64_t elapsed_ns, spent_ns;
    };
    std::int64_t least_elapsed = INT64_MAX, most_spent = 0;
    for (const Times& of_rank : gather_all(world, Times{now_ns() - began_ns_, spent_ns})) {
        least_elapsed = std::min(least_elapsed, of_rank.elapsed_ns);
        most_spent = std::max(most_spent, of_rank.spent_ns);
    }
    return most_spent <= credit_ns + least_elapsed / share;
}

}  // namespace tutti
