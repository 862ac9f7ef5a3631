// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <numeric>
#include <utility>

#include "autotune/search/search.hpp"
#include "base/index.hpp"
#include "results/statistics/statistics.hpp"

namespace tutti {

Finding finding_by_medians(Bytes size, const SamplesByArm& samples_ns) {
    std::vector<std::pair<double, int>> order;
    for (const auto& [arm, samples] : samples_ns)
        if (!samples.empty()) order.emplace_back(median(samples), arm);
    std::ranges::sort(order);
    Finding finding{.size = size};
    for (const auto& [time, arm] : order) finding.entries.push_back({arm, samples_ns.at(arm)});
    if (order.empty()) return finding;
    finding.winner = order.front().second;
    finding.measured = true;
    return finding;
}

// Compares plain medians, not by the search's own statistics: what is measured against it must not
// share its errors.
std::vector<Finding> search_exhaustively(
    Evaluator& evaluator, std::span<const Bytes> sizes, int repetitions,
    const std::function<void(const SearchProgress&)>& progress) {
    std::vector<int> all(evaluator.arms().size());
    std::iota(all.begin(), all.end(), 0);
    std::vector<Finding> findings;
    for (const Bytes size : sizes) {
        SamplesByArm samples;
        if (!evaluator.is_over()) {
            auto raced = evaluator.race(size, all, repetitions);
            for (const int arm : all) samples[arm] = std::move(at(raced, arm));
        }
        const Finding& found = findings.emplace_back(finding_by_medians(size, samples));
        if (progress)
            progress(
                {.share = static_cast<double>(findings.size()) / static_cast<double>(sizes.size()),
                 .size = size,
                 .winner = found.winner});
    }
    return findings;
}

}  // namespace tutti
