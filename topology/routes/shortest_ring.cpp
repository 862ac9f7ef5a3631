// SPDX-License-Identifier: Apache-2.0
#include "topology/routes/shortest_ring.hpp"

#include <algorithm>
#include <limits>

#include "base/index.hpp"

namespace tutti {
namespace {

constexpr double no_way = std::numeric_limits<double>::infinity();

// The cheapest ways from member 0 over a set of others, of which `last` comes last. Others are
// counted from 0, so that a set is a number with a bit for each.
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

}  // namespace

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

}  // namespace tutti
