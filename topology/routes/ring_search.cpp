// SPDX-License-Identifier: Apache-2.0
#include "topology/routes/ring_search.hpp"

#include <algorithm>
#include <cmath>
#include <tuple>
#include <utility>

#include "base/index.hpp"

namespace tutti {
namespace {

enum class Directions { one, both };

// Rings are laid one after another into what the earlier ones have left of each edge.
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
    // All return true when the search is over: the bound is reached, or the steps are used up.
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

    // A ring is complete: note it, and go on with the next one in what is left.
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

    // The edges of a leg, and of the way back if rings are laid both ways.
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

    // In channels; rounded, so that sums of the same links in another order are equal.
    int room_on(const Leg& leg) const {
        double room = most_rings;
        for (const Charge& charge : leg.charges) room = std::min(room, at(left_, charge.edge));
        return static_cast<int>(std::lround(room * 64));
    }

    unsigned draw() {  // xorshift; 0 stays 0, which is: not shuffled
        shuffle_ ^= shuffle_ << 13;
        shuffle_ ^= shuffle_ >> 17;
        shuffle_ ^= shuffle_ << 5;
        return shuffle_;
    }

    // Nearest first; of equally near ones where most is left, then in the order of their numbers.
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

    // Ports that serve the fewest channels first, each with the members near it.
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

    // The port by which the channel comes in is best (one rail all the way), then as above.
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
    std::vector<double> left_;  // of each edge, in channels
    std::vector<int> uses_;     // of each stop that is a port
    std::vector<HostChannel> channels_;
    std::vector<HostChannel> best_;
    HostChannel laying_;       // what there is so far of the next one
    std::optional<int> last_;  // the member that has to come last in it
};

}  // namespace

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
