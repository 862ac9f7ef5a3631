// SPDX-License-Identifier: Apache-2.0
#include "collectives/execute/request.hpp"

namespace tutti {

void read_step(const Schedule& schedule, int step, Rank rank, const Layout& layout, RankStep& out) {
    out.departures.clear();
    out.arrivals.clear();
    schedule.visit(
        step,
        [&](const Transfer& t) {
            for (int chunk = t.chunks.first; chunk < t.chunks.first + t.chunks.count; ++chunk) {
                if (layout.bytes_of(chunk) == 0) continue;
                if (t.to == rank) out.arrivals.push_back({chunk, t.from, t.action});
                if (t.from == rank && t.to != rank)
                    out.departures.push_back({chunk, t.to, t.action});
            }
        },
        rank);
}

std::vector<std::vector<std::size_t>> by_peer(const std::vector<Passage>& passages) {
    std::vector<std::vector<std::size_t>> grouped;
    std::unordered_map<int, std::size_t> group_of;
    for (std::size_t i = 0; i < passages.size(); ++i) {
        const auto [known, is_new] = group_of.try_emplace(passages[i].peer.index, grouped.size());
        if (is_new) grouped.emplace_back();
        grouped[known->second].push_back(i);
    }
    return grouped;
}

std::unordered_map<int, Traffic> traffic_of(const RankStep& step) {
    std::unordered_map<int, Traffic> traffic;
    for (const Passage& arrival : step.arrivals) ++traffic[arrival.chunk].arrivals;
    for (const Passage& departure : step.departures) traffic[departure.chunk].departs = true;
    return traffic;
}

}  // namespace tutti
