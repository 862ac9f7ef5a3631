// SPDX-License-Identifier: Apache-2.0
#include "topology/routes/ring_mix.hpp"

#include <algorithm>
#include <limits>
#include <map>

#include "base/index.hpp"
#include "topology/routes/simplex.hpp"

namespace tutti {
namespace {

constexpr double no_way = std::numeric_limits<double>::infinity();

// The cheapest paths from member 0 over a set of other members that end at `last`. Other members
// are counted from 0; a set is a bit mask.
struct Ways {
    struct Way {
        double cost = no_way;
        int before = -1;
    };
    explicit Ways(int count) : others(count), ways(as_size(count) << count) {}
    Way& over(int set, int last) { return at(ways, set * others + last); }

    int others;
    std::vector<Way> ways;
};

template <class Cost>
Ways cheapest_ways(int others, Cost cost) {
    Ways ways(others);
    for (int first = 0; first < others; ++first)
        ways.over(1 << first, first).cost = cost(-1, first);
    for (int set = 1; set < 1 << others; ++set)
        for (int last = 0; last < others; ++last) {
            const double here = ways.over(set, last).cost;
            if (here == no_way) continue;
            for (int next = 0; next < others; ++next) {
                if ((set >> next & 1) != 0) continue;
                Ways::Way& longer = ways.over(set | 1 << next, next);
                const double there = here + cost(last, next);
                if (there < longer.cost) longer = {there, last};
            }
        }
    return ways;
}

/// Finds closed rings of a task. The rows of the linear program are the edges that such rings may
/// use.
class PricedRings {
public:
    /// `routes` and `task` have to outlive the object.
    PricedRings(const HostRoutes& routes, const PackingTask& task);

    int rows() const { return static_cast<int>(row_of_.size()); }

    /// Returns the shares of the edges' capacities that 1 GB/s of the ring uses.
    Simplex::Column column_of(const HostChannel& ring) const;
    static double cost_of(const Simplex::Column& column, const std::vector<double>& prices);

    /// Returns the cheapest ring for these prices of the rows (Held & Karp 1962), or none if there
    /// is no ring. Takes work() steps.
    std::optional<HostChannel> cheapest(const std::vector<double>& prices) const;
    std::int64_t work() const;

private:
    std::vector<double> costs_of_legs(const std::vector<double>& prices) const;

    const HostRoutes& routes_;
    const PackingTask& task_;
    std::map<int, int> row_of_;  // by edge
};

PricedRings::PricedRings(const HostRoutes& routes, const PackingTask& task)
    : routes_(routes), task_(task) {
    for (int from = 0; from < routes.members(); ++from)
        for (int to = 0; to < routes.members(); ++to)
            if (is_allowed(routes, task, from, to))
                for (const Charge& charge : routes.leg(from, to).charges)
                    row_of_.try_emplace(charge.edge, rows());
}

Simplex::Column PricedRings::column_of(const HostChannel& ring) const {
    Simplex::Column column;
    for (const Leg* leg : legs_of(routes_, ring))
        for (const Charge& charge : leg->charges)
            column[row_of_.at(charge.edge)] += charge.weight / routes_.capacity(charge.edge);
    return column;
}

double PricedRings::cost_of(const Simplex::Column& column, const std::vector<double>& prices) {
    double cost = 0;
    for (const auto& [row, share] : column) cost += share * at(prices, row);
    return cost;
}

std::vector<double> PricedRings::costs_of_legs(const std::vector<double>& prices) const {
    std::vector<double> costs;
    for (int from = 0; from < routes_.members(); ++from)
        for (int to = 0; to < routes_.members(); ++to) {
            costs.push_back(is_allowed(routes_, task_, from, to) ? 0 : no_way);
            if (costs.back() > 0) continue;
            for (const Charge& charge : routes_.leg(from, to).charges)
                costs.back() += charge.weight / routes_.capacity(charge.edge) *
                                at(prices, row_of_.at(charge.edge));
        }
    return costs;
}

std::int64_t PricedRings::work() const {
    const std::int64_t others = routes_.members() - 1;
    return (others * others << others) + std::int64_t{rows()} * rows();
}

std::optional<HostChannel> PricedRings::cheapest(const std::vector<double>& prices) const {
    const std::vector<double> costs = costs_of_legs(prices);
    const int others = routes_.members() - 1;
    const auto cost = [&](int from, int to) {
        return at(costs, (from + 1) * routes_.members() + to + 1);
    };
    Ways ways = cheapest_ways(others, cost);
    int set = (1 << others) - 1, last = -1;
    double least = no_way;
    for (int end = 0; end < others; ++end) {
        const double round = ways.over(set, end).cost + cost(end, -1);
        if (round < least) least = round, last = end;
    }
    if (last < 0) return std::nullopt;
    HostChannel ring;
    while (last >= 0) {
        ring.members.push_back(last + 1);
        const int before = ways.over(set, last).before;
        set ^= 1 << last;
        last = before;
    }
    ring.members.push_back(0);
    std::ranges::reverse(ring.members);
    return ring;
}

// Relative error that is tolerated in solutions of the linear program.
constexpr double inexactness = 1e-5;

// Returns the upper bound that these prices prove: their total over all rows divided by the cost of
// the cheapest ring.
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

// Adds channels of whole shares, or else of the largest share that fits. Returns their number.
int lay_shares(const HostRoutes& routes, const PackingTask& task, RingMix& mix,
               std::vector<HostChannel>& laid) {
    const std::size_t before = laid.size();
    std::ranges::sort(mix.shares, std::ranges::greater{}, &RingMix::Share::bandwidth_GBps);
    for (const auto& [ring, bandwidth_GBps] : mix.shares) {
        const double whole = bandwidth_GBps / task.bandwidth_GBps * (1 + inexactness);
        for (int channel = 1; channel <= whole && channel <= most_rings; ++channel)
            laid.push_back(ring);
    }
    for (const RingMix::Share& share : mix.shares) {  // no whole share: the largest that fits
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
