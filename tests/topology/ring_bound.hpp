// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

#include "topology/routes/ring_load.hpp"

namespace tutti {

/// Returns an upper bound of the bandwidth of any set of rings over one host's members, by duality:
/// with a weight for each edge, the sum of capacity times weight divided by the cost of the
/// cheapest ring is a bound. Raises the weights along the cheapest ring in each round (Garg &
/// Koenemann 2007) and returns the lowest bound. Tries all (n-1)! rings, so use few members.
inline double bound_of_rings(const HostRoutes& routes, PathType worst, int rounds = 1500) {
    std::vector<std::vector<double>> loads;
    HostChannel ring{.members = std::vector<int>(static_cast<std::size_t>(routes.members()))};
    std::iota(ring.members.begin(), ring.members.end(), 0);
    do {
        const auto legs = legs_of(routes, ring);
        if (std::ranges::all_of(legs, [&](const Leg* leg) { return leg->type <= worst; }))
            loads.push_back(load_of(routes, {ring}));
    } while (std::next_permutation(ring.members.begin() + 1, ring.members.end()));
    if (loads.empty()) return 0;

    const std::size_t edges = loads.front().size();
    std::vector<double> weight(edges);
    for (std::size_t e = 0; e < edges; ++e) weight[e] = 1 / routes.capacity(static_cast<int>(e));
    double bound = std::numeric_limits<double>::infinity();
    for (int round = 0; round < rounds; ++round) {
        const auto cost = [&](const std::vector<double>& load) {
            double sum = 0;
            for (std::size_t e = 0; e < edges; ++e) sum += load[e] * weight[e];
            return sum;
        };
        const auto cheapest = std::ranges::min_element(loads, {}, cost);
        double budget = 0;
        for (std::size_t e = 0; e < edges; ++e) {
            const bool is_used =
                std::ranges::any_of(loads, [&](const auto& l) { return l[e] > 0; });
            if (is_used) budget += routes.capacity(static_cast<int>(e)) * weight[e];
        }
        bound = std::min(bound, budget / cost(*cheapest));
        double rate = std::numeric_limits<double>::infinity();
        for (std::size_t e = 0; e < edges; ++e)
            if ((*cheapest)[e] > 0)
                rate = std::min(rate, routes.capacity(static_cast<int>(e)) / (*cheapest)[e]);
        constexpr double eagerness = 0.02;
        for (std::size_t e = 0; e < edges; ++e)
            weight[e] *=
                1 + eagerness * rate * (*cheapest)[e] / routes.capacity(static_cast<int>(e));
    }
    return bound;
}

}  // namespace tutti
