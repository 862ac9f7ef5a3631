// SPDX-License-Identifier: Apache-2.0
#include "collectives/execute/request.hpp"

namespace tutti {

void read_step(const Schedule& schedule, int step, Rank rank, const Layout& layout, RankStep& out) {
    out.departures.clear();
    out.arrivals.clear();
    schedule.visit(step, [&](const Transfer& t) {
        for (int chunk = t.chunks.first; chunk < t.chunks.first + t.chunks.count; ++chunk) {
            if (layout.bytes_of(chunk) == 0) continue;
            if (t.to == rank) out.arrivals.push_back({chunk, t.from, t.action});
            if (t.from == rank && t.to != rank) out.departures.push_back({chunk, t.to, t.action});
        }
    }, rank);
}

}  // namespace tutti
