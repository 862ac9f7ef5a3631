// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <functional>
#include <set>

#include "base/index.hpp"
#include "topology/routes/ring_search.hpp"

namespace tutti {
namespace {

template <typename Visit>
void each_allowed_leg(const HostRoutes& routes, const PackingTask& task, Visit visit) {
    for (int from = 0; from < routes.stops(); ++from)
        for (int to = 0; to < routes.stops(); ++to)
            if ((from < routes.members() || to < routes.members()) &&
                is_allowed(routes, task, from, to))
                visit(from, routes.leg(from, to));
}

}  // namespace

bool is_allowed(const HostRoutes& routes, const PackingTask& task, int from, int to) {
    if (from == to) return false;
    const bool to_port = from >= routes.members() || to >= routes.members();
    if (to_port && task.ends == RingEnds::closed) return false;
    return routes.leg(from, to).type <= (to_port ? task.limits.to_port : task.limits.inside);
}

int most_channels_of(const HostRoutes& routes, const PackingTask& task) {
    // Every channel leaves each member once, by the first edge of some leg.
    std::vector<std::set<int>> first_edges(as_size(routes.stops()));
    each_allowed_leg(routes, task, [&](int from, const Leg& leg) {
        if (!leg.charges.empty()) at(first_edges, from).insert(leg.charges.front().edge);
    });
    const auto fitting = [&](int stop) {
        double channels = 0;
        for (const int edge : at(first_edges, stop))
            channels += std::floor(routes.capacity(edge) * (1 + rounding) / task.bandwidth_GBps);
        return channels;
    };
    double most = most_rings;
    for (int member = 0; member < routes.members(); ++member)
        most = std::min(most, fitting(member));
    if (task.ends == RingEnds::at_ports) {
        double by_ports = 0;
        for (int port = routes.members(); port < routes.stops(); ++port) by_ports += fitting(port);
        most = std::min(most, by_ports);
    }
    return static_cast<int>(most);
}

std::vector<double> rates_to_try(const HostRoutes& routes, const PackingTask& task) {
    constexpr int most_sharing = 8;
    std::set<double, std::greater<>> rates;
    each_allowed_leg(routes, task, [&](int, const Leg& leg) {
        for (const Charge& charge : leg.charges)
            for (int sharing = 1; sharing <= most_sharing; ++sharing)
                rates.insert(routes.capacity(charge.edge) / charge.weight / sharing);
    });
    std::vector<double> distinct;
    for (const double rate : rates)
        if (distinct.empty() || rate < distinct.back() * (1 - 1e-3)) distinct.push_back(rate);
    return distinct;
}

}  // namespace tutti
