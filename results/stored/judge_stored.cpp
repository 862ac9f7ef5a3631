// SPDX-License-Identifier: Apache-2.0
#include "results/stored/judge_stored.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "results/stored/two_samples.hpp"

namespace tutti {

double noise_between(std::span<const double> launches) {
    std::vector<double> distances;
    for (std::size_t i = 0; i < launches.size(); ++i)
        for (std::size_t j = i + 1; j < launches.size(); ++j)
            distances.push_back(std::abs(launches[i] - launches[j]));
    if (distances.empty()) return 0;
    std::ranges::sort(distances);
    return distances[(distances.size() * 9 + 9) / 10 - 1];
}

std::vector<Judgement> judge_stored(std::span<const StoredMetric> metrics, const Rule& rule) {
    std::vector<Judgement> judgements;
    for (const StoredMetric& metric : metrics)
        judgements.push_back(
            {.shift = shift_between(metric.a, metric.b, rule.confidence),
             .tested = shift_between(metric.a, metric.b, rule.confidence),
             .sure = shift_between(metric.a, metric.b, std::max(surely, rule.confidence)),
             .noise = std::max(noise_between(metric.a), noise_between(metric.b))});
    settle(judgements, rule);
    const int needed = least_of_each((1 - rule.confidence) /
                                     static_cast<double>(std::max<std::size_t>(metrics.size(), 1)));
    for (std::size_t i = 0; i < judgements.size(); ++i)
        if (std::isinf(judgements[i].shift.low))
            judgements[i].reason = fmt::format(
                "{} of A and {} of B are too few for a verdict; {} launches of each are enough",
                metrics[i].a.size(), metrics[i].b.size(), needed);
    return judgements;
}

}  // namespace tutti
