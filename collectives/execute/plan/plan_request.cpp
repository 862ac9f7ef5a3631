// SPDX-License-Identifier: Apache-2.0
#include "collectives/execute/plan/plan_request.hpp"

#include <algorithm>

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
        if (!step.is_empty()) steps.push_back(std::move(step));
    }
    return steps;
}

std::vector<std::vector<std::size_t>> by_peer(const std::vector<RankTransfer>& transfers) {
    std::vector<std::vector<std::size_t>> grouped;
    std::unordered_map<int, std::size_t> group_of;
    for (std::size_t i = 0; i < transfers.size(); ++i) {
        const auto [known, is_new] = group_of.try_emplace(transfers[i].peer.index, grouped.size());
        if (is_new) grouped.emplace_back();
        grouped[known->second].push_back(i);
    }
    return grouped;
}

std::unordered_map<int, Traffic> traffic_of(const RankStep& step) {
    std::unordered_map<int, Traffic> traffic;
    for (const RankTransfer& receive : step.receives) ++traffic[receive.chunk].receives;
    for (const RankTransfer& send : step.sends) traffic[send.chunk].is_sent = true;
    return traffic;
}

}  // namespace tutti
