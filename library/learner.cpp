// SPDX-License-Identifier: Apache-2.0
#include "library/learner.hpp"

#include <algorithm>
#include <bit>
#include <numeric>

#include "autotune/choice/default_choice.hpp"
#include "base/clock.hpp"
#include "base/index.hpp"

namespace tutti {
namespace {

// Lower bound of the time of a call. It determines the length of the first round.
constexpr double least_call_ns = 500, least_ns_per_byte = 0.02;

// The times that a rank sends at the end of a round. The maximum over the ranks counts, except for
// the exchange: the last rank does not wait for others, so the minimum is the time of the exchange.
struct Report {
    double spent = 0, calls = 0, making = 0, longest_making = 0, exchange = 0, lost = 0;
    std::array<double, Learner::samples_of_round> samples{};
};

void take_slowest(Report& all, const Report& one) {
    all.spent = std::max(all.spent, one.spent);
    all.calls = std::max(all.calls, one.calls);
    all.making = std::max(all.making, one.making);
    all.longest_making = std::max(all.longest_making, one.longest_making);
    all.exchange = std::min(all.exchange, one.exchange);
    all.lost = std::max(all.lost, one.lost);
    for (std::size_t i = 0; i < all.samples.size(); ++i)
        all.samples[i] = std::max(all.samples[i], one.samples[i]);
}

Report exchanged(World& world, const Report& mine, double& exchange_ns) {
    const std::int64_t began = now_ns();
    const auto all = gather_all(world, mine);
    exchange_ns = static_cast<double>(now_ns() - began);
    Report slowest = all.front();
    for (const Report& one : all) take_slowest(slowest, one);
    return slowest;
}

// Returns the distance between timed calls. It is odd, because programs alternate between buffers
// or lengths, and all of them should be timed.
std::int64_t between_timed(const Round& round) {
    return std::max<std::int64_t>(round.calls / Learner::samples_of_round, 1) | 1;
}

BufferKind kind_of_buffers(const CallKey& key) {
    return key.is_registered() ? BufferKind::registered : BufferKind::unregistered;
}

RangeEvidence evidence_of(const Learner::Point& point, int ranks) {
    RangeEvidence seen{.size = Bytes{total_bytes(point.example.call, ranks)}};
    seen.time = *point.search.time_of(point.search.incumbent());
    if (const auto second = point.search.runner_up()) {
        seen.runner_up = at(point.arms, *second);
        seen.runner_up_time = point.search.time_of(*second);
    }
    return seen;
}

}  // namespace

// The first exchanges are slow: caches are cold and ranks are late. So the minimum counts.
Learner::Learner(World& world, Learning learning)
    : world_(world), learning_(std::move(learning)), budget_(learning_.bound) {
    if (!(learning_.bound > 0 && learning_.bound < 1))
        throw Error("Learning::bound must be between 0 and 1, for example 0.05");
    exchanged(world, {}, my_exchange_ns_);
    for (int i = 0; i < 8; ++i) {
        double now = 0;
        exchanged(world, {}, now);
        my_exchange_ns_ = std::min(my_exchange_ns_, now);
    }
    double last = 0;
    exchange_ns_ = exchanged(world, {.exchange = my_exchange_ns_}, last).exchange;
}

Learner::Kind Learner::kind_of(const CallKey& key) const {
    const Call& call = key.call;
    const auto bytes = static_cast<std::uint64_t>(total_bytes(call, world_.size()));
    return {{call.collective, class_of(call.collective, call.type),
             class_of(call.collective, call.op), kind_of_buffers(key)},
            key.has_lengths,
            static_cast<int>(std::bit_width(bytes))};
}

Learner::CallShape Learner::shape_of(const CallKey& key) const {
    return shape_of(total_bytes(key.call, world_.size()), key.in_place);
}

Learner::Point* Learner::find(const CallKey& key) {
    const auto known = points_.find(kind_of(key));
    return known == points_.end() ? nullptr : &known->second;
}

Learner::Point& Learner::begin(const CallKey& key, const Configuration& incumbent) {
    const Collective collective = key.call.collective;
    std::vector<Configuration> arms{incumbent};
    const auto others =
        learning_.arms ? learning_.arms(collective) : all_choices(collective, world_);
    for (const Configuration& other : others)
        if (std::ranges::find(arms, other) == arms.end()) arms.push_back(other);
    const auto bytes = static_cast<double>(total_bytes(key.call, world_.size()));
    const OnlineSearch search({.arms = static_cast<int>(arms.size()),
                               .incumbent = 0,
                               .exchange_ns = exchange_ns_,
                               .least_call_ns = least_call_ns + bytes * least_ns_per_byte});
    Point& point = points_
                       .emplace(kind_of(key), Point{.arms = std::move(arms),
                                                    .search = search,
                                                    .example = key,
                                                    .shape = shape_of(key)})
                       .first->second;
    take_round(point);
    return point;
}

void Learner::take_round(Point& point) {
    point.round = point.search.next(budget_);
    point.calls_done = 0;
    point.times = {};
    point.samples = {};
    point.sampled = 0;
    point.next_timed = between_timed(point.round) - 1;
}

int Learner::arm_for(Point& point, const CallKey& key) {
    const CallShape shape = shape_of(key);
    if (shape == point.shape) {
        point.others_in_a_row = 0;
        return point.round.arm;
    }
    if (++point.others_in_a_row < most_others_in_a_row || key.mode == CallMode::nonblocking)
        return point.search.incumbent();
    point.example = key;
    point.shape = shape;
    point.others_in_a_row = 0;
    point.search.plans_are_gone();
    take_round(point);
    return point.round.arm;
}

void Learner::exclude(Point& point, int arm, double lost_ns) {
    lost_ns_ += lost_ns;
    point.search.exclude(arm);
    take_round(point);
}

void Learner::record(Point& point, CallShape shape, double call_ns, double making_ns) {
    spent_ns_ += making_ns;
    if (shape != point.shape) {
        spent_ns_ += call_ns * (1 + std::exchange(point.untimed_others, 0));
        return;
    }
    point.times.calls += call_ns;
    point.times.making += making_ns;
    point.times.longest_making = std::max(point.times.longest_making, making_ns);
    if (is_timed(point)) {
        point.samples[point.sampled++] = call_ns;
        point.next_timed += between_timed(point.round);
    }
    if (++point.calls_done >= point.round.calls) exchange(point);
}

// All calls of a trial are timed. In the incumbent's round, samples are extrapolated to all calls.
void Learner::exchange(Point& point) {
    if (point.round.arm == point.search.incumbent() && point.sampled > 0) {
        const auto samples = std::span(point.samples).first(point.sampled);
        point.times.calls = static_cast<double>(point.round.calls) *
                            std::accumulate(samples.begin(), samples.end(), 0.0) /
                            static_cast<double>(point.sampled);
    }
    spent_ns_ += point.times.calls;
    const Report mine{.spent = spent_ns_,
                      .calls = point.times.calls,
                      .making = point.times.making,
                      .longest_making = point.times.longest_making,
                      .exchange = my_exchange_ns_,
                      .lost = lost_ns_,
                      .samples = point.samples};
    const Report slowest = exchanged(world_, mine, my_exchange_ns_);
    spent_ns_ = my_exchange_ns_;
    exchange_ns_ = slowest.exchange;
    budget_.spend(slowest.spent);
    budget_.lose(slowest.lost);
    lost_ns_ = 0;
    const RoundTimes times{.samples = std::span(slowest.samples).first(point.sampled),
                           .calls = slowest.calls,
                           .making = slowest.making,
                           .longest_making = slowest.longest_making,
                           .exchange = slowest.exchange};
    point.search.record(point.round, times, budget_);
    take_round(point);
}

// Points of a subject are in the order of sizes.
std::vector<Section> Learner::learnt(const JobShape& job_shape) const {
    std::vector<Section> sections;
    for (const auto& [kind, point] : points_) {
        const int best = point.search.incumbent();
        if (kind.has_lengths || !point.search.time_of(best)) continue;
        if (sections.empty() || sections.back().subject != kind.subject)
            sections.push_back({.job_shape = job_shape, .subject = kind.subject});
        Section& section = sections.back();
        section.is_complete = section.is_complete && point.search.is_settled();
        const Configuration& choice = at(point.arms, best);
        if (section.ranges.empty() || section.ranges.back().choice != choice) {
            const Bytes from{section.ranges.empty() || kind.octave == 0
                                 ? 0
                                 : std::int64_t{1} << (kind.octave - 1)};
            section.ranges.push_back({.from = from, .choice = choice, .origin = Origin::learnt});
        }
        section.ranges.back().evidence.push_back(evidence_of(point, job_shape.ranks));
    }
    return sections;
}

}  // namespace tutti
