// SPDX-License-Identifier: Apache-2.0
#include "collectives/execute/plan/plan_request.hpp"

namespace tutti {

bool has_result_before(const Call& call, const CallBuffers& buffers, Rank rank) {
    return call.collective == Collective::broadcast && call.root == rank &&
           buffers.input.data() == buffers.output.data();
}

std::vector<RankStep> rank_steps(const PlanRequest& request, Rank rank) {
    const Schedule& schedule = request.schedule;
    std::vector<RankStep> steps;
    for (int number = 0; number < schedule.steps(); ++number) {
        RankStep step{.number = number};
        schedule.visit(
            number,
            [&](const Transfer& t) {
                for (int chunk = t.chunks.first; chunk < t.chunks.first + t.chunks.count; ++chunk) {
                    if (t.to == rank) step.receives.push_back({chunk, t.from, t.action});
                    if (t.from == rank && t.to != rank)
                        step.sends.push_back({chunk, t.to, t.action});
                }
            },
            rank);
        if (step.is_empty()) continue;
        step.sends.shrink_to_fit();
        step.receives.shrink_to_fit();
        steps.push_back(std::move(step));
    }
    return steps;
}

}  // namespace tutti
