// SPDX-License-Identifier: Apache-2.0
#include "topology/routes/ring_mix.hpp"

#include <algorithm>
#include <limits>

#include "base/index.hpp"
#include "topology/routes/shortest_ring.hpp"

namespace tutti {
namespace {

// What the solution of a linear program has too much or too little.
constexpr double inexactness = 1e-5;

// If everybody pays these prices and all is sold, no more can be had than the cheapest ring costs.
double bound_by(const std::vector<double>& prices, const std::vector<double>& rows,
                double cheapest) {
    double sum = 0;
    for (std::size_t row = 0; row < rows.size(); ++row) {
        if (prices[row] < -rounding) return std::numeric_limits<double>::infinity();
        sum += prices[row] * rows[row];
    }
    return cheapest > rounding ? sum / cheapest : std::numeric_limits<double>::infinity();
}

bool fits_in(const HostRoutes& routes, const std::vector<HostChannel>& channels,
             double bandwidth_GBps) {
    const ChannelRate rate = rate_of(routes, channels);
    return !rate.limit || rate.bandwidth_GBps * (1 + inexactness) >= bandwidth_GBps;
}

// How many more there are now.
int lay_shares(const HostRoutes& routes, const PackingTask& task, RingMix& mix,
               std::vector<HostChannel>& laid) {
    const std::size_t before = laid.size();
    std::ranges::sort(mix.shares, std::ranges::greater{}, &RingMix::Share::bandwidth_GBps);
    for (const auto& [ring, bandwidth_GBps] : mix.shares) {
        const double whole = bandwidth_GBps / task.bandwidth_GBps * (1 + inexactness);
        for (int channel = 1; channel <= whole && channel <= most_rings; ++channel)
            laid.push_back(ring);
    }
    for (const RingMix::Share& share : mix.shares) {  // where none is whole, the largest that fits
        if (laid.size() > before) break;
        laid.push_back(share.ring);
        if (!fits_in(routes, laid, task.bandwidth_GBps)) laid.pop_back();
    }
    return static_cast<int>(laid.size() - before);
}

}  // namespace

std::optional<RingMix> best_mix(const HostRoutes& routes, const PackingTask& task,
                                const std::vector<HostChannel>& laid, std::int64_t& work) {
    constexpr int fewest_members = 3, most_members = 10, most_rows = 256;
    if (task.ends != RingEnds::closed || routes.members() < fewest_members ||
        routes.members() > most_members)
        return std::nullopt;
    const PricedRings rings(routes, task);
    if (rings.rows() > most_rows) return std::nullopt;
    std::vector<double> left(as_size(rings.rows()), 1);
    for (const HostChannel& channel : laid)
        for (const auto& [row, share] : rings.column_of(channel))
            at(left, row) = std::max(0., at(left, row) - share * task.bandwidth_GBps);

    Simplex simplex(left);
    std::vector<HostChannel> columns;
    RingMix mix{.shares = {}, .bound_GBps = std::numeric_limits<double>::infinity()};
    for (;;) {
        work -= rings.work();
        if (work < 0) return std::nullopt;
        const std::vector<double> prices = simplex.prices();
        const auto ring = rings.cheapest(prices);
        if (!ring) return RingMix{};
        const Simplex::Column column = rings.column_of(*ring);
        const double cost = PricedRings::cost_of(column, prices);
        mix.bound_GBps = std::min(mix.bound_GBps, bound_by(prices, left, cost));
        const auto lowest = std::ranges::min_element(prices);
        if (cost < 1 - rounding) {
            columns.push_back(*ring);
            if (!simplex.take(column, int_size(columns) - 1)) break;
        } else if (lowest == prices.end() || *lowest >= -rounding ||
                   !simplex.leave_unused(static_cast<int>(lowest - prices.begin()))) {
            break;
        }
    }
    for (const auto& [column, amount] : simplex.amounts())
        if (column != Simplex::free && amount > rounding)
            mix.shares.push_back({at(columns, column), amount});
    return mix;
}

std::vector<HostChannel> in_channels(const HostRoutes& routes, const PackingTask& task, RingMix mix,
                                     int wanted, std::int64_t& work) {
    std::vector<HostChannel> laid;
    while (int_size(laid) < wanted && lay_shares(routes, task, mix, laid) > 0) {
        auto rest = best_mix(routes, task, laid, work);
        if (!rest) break;
        const double more = rest->bound_GBps / task.bandwidth_GBps * (1 + inexactness);
        if (int_size(laid) + static_cast<int>(more) < wanted) break;
        mix = std::move(*rest);
    }
    if (int_size(laid) > wanted) laid.resize(as_size(wanted));
    return laid;
}

}  // namespace tutti
