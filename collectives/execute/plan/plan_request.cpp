// SPDX-License-Identifier: Apache-2.0
#include "collectives/execute/plan/plan_request.hpp"

namespace tutti {

void read_step(const Schedule& schedule, int step, Rank rank, const Layout& layout, RankStep& out) {
    out.sends.clear();
    out.receives.clear();
    schedule.visit(
        step,
        [&](const Transfer& t) {
            for (int chunk = t.chunks.first; chunk < t.chunks.first + t.chunks.count; ++chunk) {
                if (layout.bytes_of(chunk) == 0) continue;
                if (t.to == rank) out.receives.push_back({chunk, t.from, t.action});
                if (t.from == rank && t.to != rank) out.sends.push_back({chunk, t.to, t.action});
            }
        },
        rank);
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
