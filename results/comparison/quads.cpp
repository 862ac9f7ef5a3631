// SPDX-License-Identifier: Apache-2.0
#include "results/comparison/quads.hpp"

#include <cmath>

#include "results/statistics/signed_rank.hpp"
#include "results/statistics/statistics.hpp"

namespace tutti {

std::optional<LaunchOfMetric> summary_of(const std::vector<Quad>& quads) {
    LaunchOfMetric launch;
    std::vector<double> a_times, b_times, noise_a, noise_b;
    for (const Quad& quad : quads) {
        if (quad.a1 <= 0 || quad.a2 <= 0 || quad.b1 <= 0 || quad.b2 <= 0) continue;
        launch.quads.push_back((std::log(quad.b1 / quad.a1) + std::log(quad.b2 / quad.a2)) / 2);
        // The later one against the earlier one, and in the next quad the other way round.
        const double sign = quad.a_first ? 1 : -1;
        noise_a.push_back(sign * std::log(quad.a2 / quad.a1));
        noise_b.push_back(sign * std::log(quad.b2 / quad.b1));
        a_times.insert(a_times.end(), {quad.a1, quad.a2});
        b_times.insert(b_times.end(), {quad.b1, quad.b2});
    }
    if (launch.quads.empty()) return std::nullopt;
    launch.change = centre_of(launch.quads);
    launch.noise_a = centre_of(noise_a);
    launch.noise_b = centre_of(noise_b);
    launch.a_ns = median(a_times);
    launch.b_ns = median(b_times);
    return launch;
}

}  // namespace tutti
