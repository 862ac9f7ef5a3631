// SPDX-License-Identifier: Apache-2.0
#include "workloads/timing/global_clock.hpp"

#include <time.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>

namespace tutti {
namespace {

// A look goes on while it is clearly worse than the best one so far: where another program has the
// core of one of the two, all pings are late on the same side.
constexpr int pings_at_once = 20;
constexpr int least_pings_of_first_look = 100;
constexpr std::int64_t longest_look_ns = 30'000'000;
constexpr std::int64_t longest_check_ns = 4 * longest_look_ns;
constexpr double most_seconds_of_look = 1;
constexpr int looks_at_first = 4;
constexpr std::int64_t between_looks_ns = 50'000'000;

// Who asks whom at the same time: in round k hosts 2^k .. 2^(k+1) - 1 ask those 2^k below, who know
// the time by then.
struct Question {
    int asking, asked;
};

std::vector<std::vector<Question>> tree(int hosts, bool one_at_a_time) {
    std::vector<std::vector<Question>> rounds;
    for (int reach = 1; reach < hosts; reach *= 2) {
        rounds.emplace_back();
        for (int host = reach; host < std::min(2 * reach, hosts); ++host) {
            if (one_at_a_time && !rounds.back().empty()) rounds.emplace_back();
            rounds.back().push_back({host, host - reach});
        }
    }
    return rounds;
}

void sleep_ns(std::int64_t ns) {
    const timespec a_while{.tv_sec = 0, .tv_nsec = ns};
    nanosleep(&a_while, nullptr);
}

}  // namespace

GlobalClock::GlobalClock(World& world, const Placement& hosts, std::function<std::int64_t()> read)
    : world_(world), hosts_(hosts), read_(std::move(read)) {
    if (hosts_.nodes().size() < 2) return;
    for (int host = 0; host < static_cast<int>(hosts_.nodes().size()); ++host) {
        const auto& members = hosts_.nodes()[static_cast<std::size_t>(host)];
        if (std::ranges::find(members, world_.rank()) != members.end()) host_ = host;
        if (members.front() == world_.rank()) me_ = host;
    }
    channel_ = std::make_unique<PointToPointChannel>(world_);
    for (int look = 0; look < looks_at_first; ++look) {
        if (look > 0) sleep_ns(between_looks_ns);
        synchronise();
    }
    check_against_first();
}

void GlobalClock::refresh() {
    if (!channel_) return;
    // The first host's clock needs no model, so the second leader knows best how old models are.
    const Rank knowing = hosts_.nodes()[1].front();
    const bool is_old = read_() - last_ns_ > model_.trusted_ns();
    const auto all = gather_all(world_, static_cast<char>(is_old));
    if (all[static_cast<std::size_t>(knowing.index)] != 0) synchronise();
}

void GlobalClock::synchronise() {
    const bool knew = model_.trusted_ns() > 0;
    std::int64_t deviation = 0;
    for (const auto& round : tree(static_cast<int>(hosts_.nodes().size()), world_.oversubscribed)) {
        for (const Question& question : round) {
            if (me_ == question.asked)
                answer(hosts_.nodes()[static_cast<std::size_t>(question.asking)].front());
            if (me_ == question.asking) {
                const Look look =
                    look_at(hosts_.nodes()[static_cast<std::size_t>(question.asked)].front(),
                            longest_look_ns);
                if (knew && !look.is_disturbed) deviation = deviation_of(look.seen);
                way_ns_ = look.seen.reach_ns;
                reach_ns_ = look.reach_of_asked_ns + look.seen.reach_ns;
                model_.learn(look.seen);
            }
        }
        world_.sleeping_barrier(most_seconds_of_look);
    }
    last_ns_ = read_();
    share(deviation);
}

// What the leaders have learned, to all ranks of their hosts and for the record.
void GlobalClock::share(std::int64_t deviation_ns) {
    struct Told {
        ClockModel::Line line;
        std::int64_t now_ns, deviation_ns, reach_ns, way_ns;
    };
    const auto all =
        gather_all(world_, Told{model_.line(), read_(), deviation_ns, reach_ns_, way_ns_});
    const auto of_host = [&](std::size_t host) -> const Told& {
        return all[static_cast<std::size_t>(hosts_.nodes()[host].front().index)];
    };
    if (me_ < 0) model_.follow(of_host(static_cast<std::size_t>(host_)).line);
    record_ = {.mode = "ping-pong", .residual_ns = 0};
    residual_ns_ = round_trip_ns_ = 0;
    for (std::size_t host = 0; host < hosts_.nodes().size(); ++host) {
        const Told& told = of_host(host);
        ClockModel model;
        model.follow(told.line);
        record_.offset_ns.push_back(-model.offset(told.now_ns));
        record_.drift_ppm.push_back(0 - std::round(model.drift() * 1e9) / 1e3);  // never -0
        residual_ns_ = std::max(residual_ns_, told.deviation_ns);
        round_trip_ns_ = std::max(round_trip_ns_, 2 * told.way_ns);
        record_.reach_ns = std::max(record_.reach_ns, told.reach_ns);
    }
    record_.residual_ns = residual_ns_;
}

// Each host in turn asks the first one itself: whatever the way by which it came to know the time,
// that is how far it is from it, give or take the reach of this look.
void GlobalClock::check_against_first() {
    std::int64_t deviation = 0;
    const Rank first = hosts_.nodes().front().front();
    for (int host = 1; host < static_cast<int>(hosts_.nodes().size()); ++host) {
        if (me_ == 0) answer(hosts_.nodes()[static_cast<std::size_t>(host)].front());
        if (me_ == host) {
            const Look look = look_at(first, longest_check_ns);
            reach_ns_ = look.seen.reach_ns;
            if (!look.is_disturbed)
                deviation = deviation_of(look.seen);
            else  // then it tells no distance, only a bound
                reach_ns_ += deviation_of(look.seen);
        }
        if (world_.oversubscribed) world_.sleeping_barrier(most_seconds_of_look);
    }
    world_.sleeping_barrier(most_seconds_of_look);
    share(deviation);
}

std::int64_t GlobalClock::deviation_of(const Sighting& seen) const {
    return std::abs(seen.offset_ns - model_.offset(seen.at_ns));
}

GlobalClock::Look GlobalClock::look_at(Rank leader, std::int64_t longest_ns) {
    std::int64_t& least_reach_ns = least_reach_ns_[leader];
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
        const Sighting seen = sight(pings);
        const bool is_first = least_reach_ns == 0;
        const bool is_good = is_first ? pings.size() >= least_pings_of_first_look
                                      : 4 * seen.reach_ns <= 5 * least_reach_ns;
        if (!is_good && read_() - began < longest_ns) continue;
        channel_->send_value(leader, false);
        if (is_first || seen.reach_ns < least_reach_ns) least_reach_ns = seen.reach_ns;
        return {seen, channel_->receive_value<std::int64_t>(leader),
                seen.reach_ns > 2 * least_reach_ns};
    }
}

void GlobalClock::answer(Rank leader) {
    while (channel_->receive_value<bool>(leader)) channel_->send_value(leader, now());
    channel_->send_value(leader, reach_ns_);
}

}  // namespace tutti
