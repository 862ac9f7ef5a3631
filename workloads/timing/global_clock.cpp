// SPDX-License-Identifier: Apache-2.0
#include "workloads/timing/global_clock.hpp"

#include <time.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>

namespace tutti {
namespace {

// Pings are repeated while the estimate is clearly worse than the best one so far: where another
// program has the core of one of the two leaders, all pings are late on the same side.
constexpr int pings_at_once = 20;
constexpr int least_pings_at_first = 100;
constexpr std::int64_t longest_pinging_ns = 30'000'000;
constexpr std::int64_t longest_check_ns = 4 * longest_pinging_ns;
constexpr double most_seconds_of_pinging = 1;
constexpr int estimates_at_first = 4;
constexpr std::int64_t between_estimates_ns = 50'000'000;

// Pairs of hosts that synchronise at the same time: in round k hosts 2^k .. 2^(k+1) - 1 ask those
// 2^k below, which are synchronised by then.
struct Question {
    int asking, asked;
};

std::vector<std::vector<Question>> tree(int hosts, bool one_at_a_time) {
    std::vector<std::vector<Question>> rounds;
    for (int known = 1; known < hosts; known *= 2) {
        rounds.emplace_back();
        for (int host = known; host < std::min(2 * known, hosts); ++host) {
            if (one_at_a_time && !rounds.back().empty()) rounds.emplace_back();
            rounds.back().push_back({host, host - known});
        }
    }
    return rounds;
}

void sleep_ns(std::int64_t ns) {
    const timespec time{.tv_sec = 0, .tv_nsec = ns};
    nanosleep(&time, nullptr);
}

}  // namespace

GlobalClock::GlobalClock(World& world, const Placement& hosts, std::function<std::int64_t()> read)
    : world_(world), hosts_(hosts), read_(std::move(read)) {
    if (hosts_.nodes().size() < 2) return;
    for (int host = 0; host < int_size(hosts_.nodes()); ++host) {
        const auto& members = at(hosts_.nodes(), host);
        if (std::ranges::find(members, world_.rank()) != members.end()) host_ = host;
        if (members.front() == world_.rank()) leads_ = host;
    }
    channel_ = std::make_unique<PointToPointChannel>(world_);
    for (int i = 0; i < estimates_at_first; ++i) {
        if (i > 0) sleep_ns(between_estimates_ns);
        synchronise();
    }
    check_against_first();
}

void GlobalClock::refresh() {
    if (!channel_) return;
    // The first host has no model, so the second host's leader decides.
    const Rank second = leader_of(1);
    const bool is_old = read_() - last_ns_ > model_.trusted_ns();
    const auto all = gather_all(world_, static_cast<char>(is_old));
    if (at(all, second) != 0) synchronise();
}

void GlobalClock::synchronise() {
    const bool had_model = model_.trusted_ns() > 0;
    std::int64_t deviation = 0;
    for (const auto& round : tree(int_size(hosts_.nodes()), world_.oversubscribed)) {
        for (const Question& question : round) {
            if (leads_ == question.asked) answer(leader_of(question.asking));
            if (leads_ == question.asking) {
                const Answer got = ping(leader_of(question.asked), longest_pinging_ns);
                if (had_model && !got.is_disturbed) deviation = deviation_of(got.estimate);
                bound_of_hop_ns_ = got.estimate.bound_ns;
                bound_ns_ = got.bound_of_leader_ns + bound_of_hop_ns_;
                model_.learn(got.estimate);
            }
        }
        world_.sleeping_barrier(most_seconds_of_pinging);
    }
    last_ns_ = read_();
    share(deviation);
}

// Sends the leaders' results to all ranks of their hosts, and to the record.
void GlobalClock::share(std::int64_t deviation_ns) {
    struct Learned {
        ClockModel::Line line;
        std::int64_t now_ns, deviation_ns, bound_ns, bound_of_hop_ns;
    };
    const auto all = gather_all(
        world_, Learned{model_.line(), read_(), deviation_ns, bound_ns_, bound_of_hop_ns_});
    if (leads_ < 0) model_.set_line(at(all, leader_of(host_)).line);
    record_ = {.mode = "ping-pong", .residual_ns = 0};
    residual_ns_ = round_trip_ns_ = 0;
    for (const Rank leader : hosts_.leaders()) {
        const Learned& learned = at(all, leader);
        ClockModel model;
        model.set_line(learned.line);
        record_.offset_ns.push_back(-model.offset(learned.now_ns));
        record_.drift_ppm.push_back(0 - std::round(model.drift() * 1e9) / 1e3);  // never -0
        residual_ns_ = std::max(residual_ns_, learned.deviation_ns);
        round_trip_ns_ = std::max(round_trip_ns_, 2 * learned.bound_of_hop_ns);
        record_.reach_ns = std::max(record_.reach_ns, learned.bound_ns);
    }
    record_.residual_ns = residual_ns_;
}

// Each host in turn pings the first one directly. That shows the error of its clock along the tree,
// within the bound of this estimate.
void GlobalClock::check_against_first() {
    std::int64_t deviation = 0;
    const Rank first = leader_of(0);
    for (int host = 1; host < int_size(hosts_.nodes()); ++host) {
        if (leads_ == 0) answer(leader_of(host));
        if (leads_ == host) {
            const Answer got = ping(first, longest_check_ns);
            bound_ns_ = got.estimate.bound_ns;
            if (!got.is_disturbed)
                deviation = deviation_of(got.estimate);
            else  // it is no deviation, but widens the bound
                bound_ns_ += deviation_of(got.estimate);
        }
        if (world_.oversubscribed) world_.sleeping_barrier(most_seconds_of_pinging);
    }
    world_.sleeping_barrier(most_seconds_of_pinging);
    share(deviation);
}

std::int64_t GlobalClock::deviation_of(const ClockOffset& estimate) const {
    return std::abs(estimate.offset_ns - model_.offset(estimate.at_ns));
}

GlobalClock::Answer GlobalClock::ping(Rank leader, std::int64_t longest_ns) {
    std::int64_t& least_bound_ns = least_bound_ns_[leader];
    std::vector<Ping> pings;
    const std::int64_t began = read_();
    for (;;) {
        for (int i = 0; i < pings_at_once; ++i) {
            Ping& ping = pings.emplace_back();
            ping.sent = read_();
            channel_->send_value(leader, true);
            ping.there = channel_->receive_value<std::int64_t>(leader);
            ping.back = read_();
        }
        const ClockOffset estimate = estimate_offset(pings);
        const bool is_first = least_bound_ns == 0;
        const bool is_good = is_first ? pings.size() >= least_pings_at_first
                                      : 4 * estimate.bound_ns <= 5 * least_bound_ns;
        if (!is_good && read_() - began < longest_ns) continue;
        channel_->send_value(leader, false);
        if (is_first || estimate.bound_ns < least_bound_ns) least_bound_ns = estimate.bound_ns;
        return {estimate, channel_->receive_value<std::int64_t>(leader),
                estimate.bound_ns > 2 * least_bound_ns};
    }
}

void GlobalClock::answer(Rank leader) {
    while (channel_->receive_value<bool>(leader)) channel_->send_value(leader, now());
    channel_->send_value(leader, bound_ns_);
}

}  // namespace tutti
