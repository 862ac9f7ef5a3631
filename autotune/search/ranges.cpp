// SPDX-License-Identifier: Apache-2.0
#include "autotune/search/ranges.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <utility>

#include "autotune/choice/scale.hpp"
#include "results/statistics/statistics.hpp"

namespace tutti {
namespace {

// Sizes further away say nothing about this one.
constexpr double reach_octaves = 3;

const Evidence* evidence_of(const Finding& finding, int arm) {
    for (const Evidence& evidence : finding.entries)
        if (evidence.arm == arm && !evidence.samples_ns.empty()) return &evidence;
    return nullptr;
}

/// Returns the logarithm of the arm's time over the winner's, if both raced.
std::optional<double> measured_cost(const Finding& finding, int arm) {
    const Evidence* winner = evidence_of(finding, finding.winner);
    const Evidence* other = evidence_of(finding, arm);
    if (!winner || !other) return std::nullopt;
    if (other->ratio) return std::max(0.0, std::log(*other->ratio));
    return std::max(0.0, std::log(median(other->samples_ns) / median(winner->samples_ns)));
}

/// Returns the cost at one of several findings, interpolated between its neighbours if it was not
/// measured.
std::optional<double> cost_at(std::span<const Finding> findings, std::size_t here, int arm) {
    if (findings[here].winner == arm) return 0;
    if (const std::optional<double> cost = measured_cost(findings[here], arm)) return cost;
    std::optional<double> below, above;
    std::size_t low = here, high = here;
    while (!below && low > 0) below = measured_cost(findings[--low], arm);
    while (!above && high + 1 < findings.size()) above = measured_cost(findings[++high], arm);
    if (!below || !above) return std::nullopt;
    const double up_to_here = octaves(findings[low].size, findings[here].size);
    const double from_here = octaves(findings[here].size, findings[high].size);
    if (up_to_here > reach_octaves || from_here > reach_octaves) return std::nullopt;
    return *below + (*above - *below) * up_to_here / (up_to_here + from_here);
}

/// The best cover of the sizes so far that ends with one arm.
struct Cover {
    int ranges = std::numeric_limits<int>::max();
    double cost = 0;  ///< sum of logarithms
    int before = -1;  ///< the arm at the size before
    bool operator<(const Cover& other) const {
        return std::pair(ranges, cost) < std::pair(other.ranges, other.cost);
    }
    bool exists() const { return ranges != std::numeric_limits<int>::max(); }
};

int number_of_arms(std::span<const Finding> findings) {
    int most = -1;
    for (const Finding& finding : findings) most = std::max(most, finding.winner);
    return most + 1;
}

std::size_t index_of_best(const std::vector<Cover>& covers) {
    return static_cast<std::size_t>(std::min_element(covers.begin(), covers.end()) -
                                    covers.begin());
}

/// Returns the arm for each finding, all of which have a winner.
std::vector<int> chosen_arms(std::span<const Finding> findings, double hysteresis) {
    // It is enough to consider winners: an arm that wins nowhere may be the best for two
    // neighbouring sizes, but then one of the two winners is as good within the hysteresis.
    const auto arms = static_cast<std::size_t>(number_of_arms(findings));
    std::vector<std::vector<Cover>> covers(findings.size(), std::vector<Cover>(arms));
    for (std::size_t i = 0; i < findings.size(); ++i) {
        const std::size_t best_before = i > 0 ? index_of_best(covers[i - 1]) : 0;
        for (std::size_t arm = 0; arm < arms; ++arm) {
            const std::optional<double> cost = cost_at(findings, i, static_cast<int>(arm));
            if (!cost || (*cost > 0 && *cost >= std::log(1 + hysteresis))) continue;
            Cover& cover = covers[i][arm];
            if (i == 0) {
                cover = {.ranges = 1, .cost = *cost};
                continue;
            }
            const Cover& change = covers[i - 1][best_before];
            const Cover& stay = covers[i - 1][arm];
            cover = {change.ranges + 1, change.cost + *cost, static_cast<int>(best_before)};
            if (stay.exists())
                cover = std::min(cover, {stay.ranges, stay.cost + *cost, static_cast<int>(arm)});
        }
    }
    std::vector<int> chosen(findings.size());
    auto arm = static_cast<int>(index_of_best(covers.back()));
    for (std::size_t i = findings.size(); i-- > 0;) {
        chosen[i] = arm;
        arm = covers[i][static_cast<std::size_t>(arm)].before;
    }
    return chosen;
}

}  // namespace

FewerRanges ranges_of(std::span<const Finding> all, double hysteresis) {
    std::vector<Finding> findings;
    std::vector<std::size_t> places;
    for (std::size_t i = 0; i < all.size(); ++i) {
        if (all[i].winner < 0) continue;
        findings.push_back(all[i]);
        places.push_back(i);
    }
    FewerRanges compression;
    if (findings.empty()) return compression;
    const std::vector<int> chosen = chosen_arms(findings, hysteresis);
    for (std::size_t i = 0; i < findings.size(); ++i) {
        const double penalty = std::exp(*cost_at(findings, i, chosen[i])) - 1;
        compression.mean_penalty += penalty / static_cast<double>(findings.size());
        compression.worst_penalty = std::max(compression.worst_penalty, penalty);
        if (i > 0 && chosen[i] == chosen[i - 1]) {
            compression.ranges.back().last = places[i];
            continue;
        }
        const Bytes from = i == 0 ? Bytes{0} : halfway(findings[i - 1].size, findings[i].size);
        compression.ranges.push_back({from, chosen[i], places[i], places[i]});
    }
    return compression;
}

}  // namespace tutti
