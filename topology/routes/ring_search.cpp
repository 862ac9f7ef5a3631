// SPDX-License-Identifier: Apache-2.0
#include "topology/routes/ring_search.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <set>
#include <tuple>
#include <utility>

#include "base/index.hpp"

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

enum class Directions { one, both };

// Adds rings one after another to the remaining capacity of the edges, with backtracking.
class Packer {
public:
    Packer(const HostRoutes& routes, const PackingTask& task, std::vector<HostChannel> laid,
           Directions directions, unsigned shuffle, int& steps)
        : routes_(routes),
          task_(task),
          paired_(directions == Directions::both),
          shuffle_(shuffle),
          steps_(steps),
          bound_(most_channels_of(routes, task)),
          uses_(as_size(routes.stops())),
          channels_(std::move(laid)),
          best_(channels_) {
        const std::vector<double> load = load_of(routes, channels_);
        for (std::size_t e = 0; e < load.size(); ++e)
            left_.push_back(routes.capacity(static_cast<int>(e)) * (1 + rounding) /
                                task.bandwidth_GBps -
                            load[e]);
        for (const HostChannel& channel : channels_) count_uses(channel, +1);
    }

    std::vector<HostChannel> run(int budget) {
        last_step_ = std::max(0, steps_ - budget);
        lay_channel();
        return best_;
    }

private:
    // These functions return true when the search is over: at the bound or after the last step.
    bool lay_channel() {
        if (int_size(channels_) + (paired_ ? 2 : 1) > bound_) return at_bound();
        if (task_.ends == RingEnds::closed) return lay_between(0, {}, {}, {});
        for (const auto& [port_in, first] : entries()) {
            if (!take(port_in, first)) continue;
            for (const auto& [last, port_out] : exits(port_in, first)) {
                if (!take(last, port_out)) continue;
                if (lay_between(first, port_in, last, port_out)) return true;
                give_back(last, port_out);
                if (steps_ <= last_step_) return true;
            }
            give_back(port_in, first);
        }
        return false;
    }

    bool lay_between(int first, std::optional<int> port_in, std::optional<int> last,
                     std::optional<int> port_out) {
        const HostChannel outer = std::exchange(laying_, {{first}, port_in, port_out});
        const auto outer_last = std::exchange(last_, last);
        const bool over = extend();
        laying_ = outer;
        last_ = outer_last;
        return over;
    }

    bool extend() {
        if (--steps_ <= last_step_) return true;
        std::vector<int>& chain = laying_.members;
        if (int_size(chain) == routes_.members()) return close();
        const int here = chain.back();
        for (const int next : neighbours_of(here)) {
            if (!take(here, next)) continue;
            chain.push_back(next);
            if (extend()) return true;
            chain.pop_back();
            give_back(here, next);
        }
        return false;
    }

    bool close() {
        const int last = laying_.members.back();
        const bool needs_closing = !laying_.port_out && laying_.members.size() > 1;
        if (needs_closing && !take(last, laying_.members.front())) return false;
        if (keep()) return true;
        if (needs_closing) give_back(last, laying_.members.front());
        return false;
    }

    // Records a complete ring and continues with the next one in the remaining capacity.
    bool keep() {
        const std::size_t before = channels_.size();
        channels_.push_back(laying_);
        if (paired_) channels_.push_back(reversed(laying_));
        for (std::size_t c = before; c < channels_.size(); ++c) count_uses(channels_[c], +1);
        if (channels_.size() > best_.size()) best_ = channels_;
        const bool over = at_bound() || lay_channel();
        for (std::size_t c = before; c < channels_.size(); ++c) count_uses(channels_[c], -1);
        channels_.resize(before);
        return over;
    }

    bool at_bound() const { return int_size(best_) >= bound_; }

    void count_uses(const HostChannel& channel, int by) {
        for (const auto port : {channel.port_in, channel.port_out})
            if (port) at(uses_, *port) += by;
    }

    // Takes the capacity of a leg, and of the reverse leg if rings are added in both directions.
    bool take(int from, int to) {
        if (!is_allowed(routes_, task_, from, to)) return false;
        if (!take(routes_.leg(from, to))) return false;
        if (!paired_ || take(routes_.leg(to, from))) return true;
        give_back(routes_.leg(from, to));
        return false;
    }
    bool take(const Leg& leg) {
        bool fits = true;
        for (const Charge& charge : leg.charges) {
            double& left = at(left_, charge.edge);
            left -= charge.weight;
            fits &= left >= 0;
        }
        if (!fits) give_back(leg);
        return fits;
    }
    void give_back(int from, int to) {
        give_back(routes_.leg(from, to));
        if (paired_) give_back(routes_.leg(to, from));
    }
    void give_back(const Leg& leg) {
        for (const Charge& charge : leg.charges) at(left_, charge.edge) += charge.weight;
    }

    // Returns the capacity for channels, rounded so that the order of summation does not matter.
    int room_on(const Leg& leg) const {
        double room = most_rings;
        for (const Charge& charge : leg.charges) room = std::min(room, at(left_, charge.edge));
        return static_cast<int>(std::lround(room * 64));
    }

    unsigned draw() {  // xorshift; 0 stays 0: not shuffled
        shuffle_ ^= shuffle_ << 13;
        shuffle_ ^= shuffle_ >> 17;
        shuffle_ ^= shuffle_ << 5;
        return shuffle_;
    }

    // Sorted by distance, then by remaining capacity, then by number.
    std::vector<int> neighbours_of(int here) {
        using Key = std::tuple<PathType, int, int, unsigned, int, int>;
        const std::vector<int>& chain = laying_.members;
        std::vector<Key> keys;
        for (int next = 0; next < routes_.members(); ++next) {
            if (std::ranges::find(chain, next) != chain.end()) continue;
            if (next == last_ && int_size(chain) + 1 < routes_.members()) continue;
            if (!is_allowed(routes_, task_, here, next)) continue;
            const Leg& leg = routes_.leg(here, next);
            const int ahead = (next - here + routes_.members()) % routes_.members();
            keys.emplace_back(leg.type, leg.hops, -room_on(leg), draw(), ahead, next);
        }
        std::ranges::sort(keys);
        std::vector<int> neighbours;
        for (const Key& key : keys) neighbours.push_back(std::get<5>(key));
        return neighbours;
    }

    // Ports with the fewest channels first, each with its nearest members.
    std::vector<std::pair<int, int>> entries() {
        using Key = std::tuple<int, PathType, int, unsigned, int, int>;
        std::vector<Key> keys;
        for (int port = routes_.members(); port < routes_.stops(); ++port)
            for (int member = 0; member < routes_.members(); ++member) {
                if (!is_allowed(routes_, task_, port, member)) continue;
                const Leg& leg = routes_.leg(port, member);
                keys.emplace_back(at(uses_, port), leg.type, leg.hops, draw(), port, member);
            }
        std::ranges::sort(keys);
        std::vector<std::pair<int, int>> found;
        for (const Key& key : keys) found.emplace_back(std::get<4>(key), std::get<5>(key));
        return found;
    }

    // The port by which the channel enters is best (it stays on one rail), then as in entries().
    std::vector<std::pair<int, int>> exits(int port_in, int first) {
        using Key = std::tuple<bool, int, PathType, int, unsigned, int, int>;
        std::vector<Key> keys;
        for (int port = routes_.members(); port < routes_.stops(); ++port)
            for (int member = 0; member < routes_.members(); ++member) {
                if (member == first && routes_.members() > 1) continue;
                if (!is_allowed(routes_, task_, member, port)) continue;
                const Leg& leg = routes_.leg(member, port);
                keys.emplace_back(port != port_in, at(uses_, port), leg.type, leg.hops, draw(),
                                  member, port);
            }
        std::ranges::sort(keys);
        std::vector<std::pair<int, int>> found;
        for (const Key& key : keys) found.emplace_back(std::get<5>(key), std::get<6>(key));
        return found;
    }

    const HostRoutes& routes_;
    const PackingTask& task_;
    const bool paired_;
    unsigned shuffle_;
    int& steps_;
    int last_step_ = 0;
    const int bound_;
    std::vector<double> left_;  // for each edge, in channels
    std::vector<int> uses_;     // for each stop that is a port
    std::vector<HostChannel> channels_;
    std::vector<HostChannel> best_;
    HostChannel laying_;       // the incomplete next channel
    std::optional<int> last_;  // the member that has to be last in it
};

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

std::vector<HostChannel> pack_channels(const HostRoutes& routes, const PackingTask& task,
                                       int& steps) {
    constexpr int steps_per_try = 2048;
    constexpr unsigned seeds[] = {0, 1, 2, 3};
    const auto bound = as_size(most_channels_of(routes, task));
    std::vector<HostChannel> best;
    if (bound == 0) return best;
    const auto attempt = [&](std::vector<HostChannel> laid, Directions directions, unsigned seed) {
        if (best.size() >= bound || steps <= 0) return;
        auto found = Packer(routes, task, std::move(laid), directions, seed * 2654435769u, steps)
                         .run(steps_per_try);
        if (found.size() > best.size()) best = std::move(found);
    };
    for (const unsigned seed : seeds) {
        if (routes.members() > 2) {
            attempt({}, Directions::both, seed);
            attempt(best, Directions::one, seed);
        }
        attempt({}, Directions::one, seed);
    }
    return best;
}

}  // namespace tutti
