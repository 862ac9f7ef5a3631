// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "collectives/algorithms/catalog.hpp"
#include "collectives/schedule/collective_spec.hpp"
#include "collectives/schedule/reorder.hpp"

namespace tutti {

Schedule build_in_order(const Algorithm& algorithm, const Job& job) {
    if (job.order.channels.empty()) return algorithm.build(job);
    std::vector<Schedule> channels;
    for (const auto& channel : job.order.channels) {
        Job of_positions = job;
        if (!job.placement.nodes().empty()) of_positions.placement = job.placement.renamed(channel);
        const auto root = std::ranges::find(channel, job.root);
        of_positions.root = Rank{static_cast<int>(root - channel.begin())};
        channels.push_back(reordered(algorithm.build(of_positions), channel, job.collective));
    }
    if (channels.size() == 1) return channels.front();
    const auto blocks = CollectiveSpec{job.collective, job.ranks}.blocks();
    return side_by_side(channels, static_cast<int>(blocks));
}

}  // namespace tutti
