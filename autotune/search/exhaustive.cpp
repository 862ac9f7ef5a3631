// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <numeric>
#include <utility>

#include "autotune/search/median.hpp"
#include "autotune/search/search.hpp"

namespace tutti {
// Judges by plain medians, not by the search's own statistics: what is measured against it must not
// share its errors.
std::vector<Finding> search_exhaustively(Track& track, std::span<const Bytes> sizes,
                                         int repetitions) {
    std::vector<int> all(track.arms().size());
    std::iota(all.begin(), all.end(), 0);
    std::vector<Finding> findings;
    for (const Bytes size : sizes) {
        Finding& finding = findings.emplace_back(Finding{.size = size});
        if (track.is_over()) continue;
        const std::vector<std::vector<double>> samples = track.race(size, all, repetitions);
        std::vector<std::pair<double, int>> order;
        for (const int arm : all)
            if (!samples[static_cast<std::size_t>(arm)].empty())
                order.emplace_back(median_of(samples[static_cast<std::size_t>(arm)]), arm);
        std::sort(order.begin(), order.end());
        for (const auto& [median, arm] : order)
            finding.entries.push_back({arm, samples[static_cast<std::size_t>(arm)]});
        if (order.empty()) continue;
        finding.winner = order.front().second;
        finding.measured = true;
    }
    return findings;
}

}  // namespace tutti
