// SPDX-License-Identifier: Apache-2.0
#include "library/learner.hpp"

#include <algorithm>
#include <bit>
#include <limits>
#include <numeric>

#include "autotune/choice/default_choice.hpp"
#include "base/clock.hpp"
#include "base/clock_cost.hpp"
#include "base/index.hpp"

namespace tutti {
namespace {

// Lower bound of the time of a call. It determines the length of the first round.
constexpr double least_call_ns = 500, least_ns_per_byte = 0.02;

// The plans and exchanges of a search may cost this many times the bound, by the time of its own
// calls.
constexpr double own_share = 2;

// Timing calls of the incumbent may take this part of the bound.
constexpr double timing_part = 0.2;

// A call of the same octave takes at most this many times as long.
constexpr double most_of_others = 4;

// The times that a rank sends at the end of a round. The program loses the mean over the ranks: a
// rank that leaves a call early goes on with its work. Making a plan keeps all ranks until the last
// is done, so the maximum counts; the last rank of an exchange does not wait for others, so the
// minimum is its time.
struct Report {
    double spent = 0, calls = 0, making = 0, longest_making = 0, exchange = 0, lost = 0;
    double timing_cost = 0;
    std::array<double, Learner::samples_of_round> samples{};
};

Report exchanged(World& world, const Report& mine) {
    const auto all = gather_all(world, mine);
    Report together{.exchange = all.front().exchange};
    const auto ranks = static_cast<double>(all.size());
    for (const Report& one : all) {
        together.spent += one.spent / ranks;
        together.calls += one.calls / ranks;
        together.making = std::max(together.making, one.making);
        together.longest_making = std::max(together.longest_making, one.longest_making);
        together.exchange = std::min(together.exchange, one.exchange);
        together.lost = std::max(together.lost, one.lost);
        together.timing_cost = std::max(together.timing_cost, one.timing_cost);
        for (std::size_t i = 0; i < one.samples.size(); ++i)
            together.samples[i] += one.samples[i] / ranks;
    }
    return together;
}

// Returns the least of nine times. The first ones are long: caches are cold, and ranks are late.
template <class Measure>
double least_of_nine(const Measure& measured_ns) {
    double least = std::numeric_limits<double>::max();
    for (int i = 0; i < 9; ++i) least = std::min(least, measured_ns());
    return least;
}

// Returns the time to read the clock before and after a call, measured once per process.
double timing_cost() {
    static const double cost = 2 * least_of_nine([] { return clock_read_ns(16); });
    return cost;
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

Learner::Learner(World& world, Learning learning)
    : world_(world), learning_(std::move(learning)), budget_(learning_.bound) {
    if (!(learning_.bound > 0 && learning_.bound < 1))
        throw Error("Learning::bound must be between 0 and 1, for example 0.05");
    my_exchange_ns_ = least_of_nine([&] {
        const std::int64_t began = now_ns();
        exchanged(world, {});
        return ns_since(began);
    });
    const Report all =
        exchanged(world, {.exchange = my_exchange_ns_, .timing_cost = timing_cost()});
    exchange_ns_ = all.exchange;
    timing_cost_ns_ = all.timing_cost;
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
        learning_.arms ? learning_.arms(collective) : choices_to_learn(collective, world_);
    for (const Configuration& other : others)
        if (std::ranges::find(arms, other) == arms.end()) arms.push_back(other);
    const auto bytes = static_cast<double>(total_bytes(key.call, world_.size()));
    const OnlineSearch search({.arms = static_cast<int>(arms.size()),
                               .incumbent = 0,
                               .exchange_ns = exchange_ns_,
                               .least_call_ns = least_call_ns + bytes * least_ns_per_byte});
    Point& point =
        points_
            .emplace(kind_of(key),
                     Point{.arms = std::move(arms),
                           .search = search,
                           .example = key,
                           .shape = shape_of(key),
                           .budget = RegretBudget(own_share * learning_.bound, &budget_)})
            .first->second;
    take_round(point);
    return point;
}

void Learner::take_round(Point& point) {
    point.round = point.search.next(point.budget);
    point.calls_done = 0;
    point.times = {};
    point.samples = {};
    point.sampled = 0;
    std::int64_t calls = point.round.calls;
    const std::int64_t of_sample = point.search.calls_of_sample();
    if (point.round.arm != point.search.incumbent()) {
        point.between_samples = of_sample;
        point.next_sample = calls > of_sample ? of_sample : 0;  // see OnlineSearch
    } else {
        // Timing slows a short call down, so one in several is timed: in at least half as many as a
        // sample has. The distance is odd, because programs alternate between buffers or lengths:
        // all of them should be timed.
        const double mean_ns = point.search.mean_ns();
        const double calls_for_one =
            mean_ns == 0 ? 1 : timing_cost_ns_ / (timing_part * learning_.bound * mean_ns);
        const std::int64_t apart = of_sample * std::max({std::int64_t{1}, of_sample / 2,
                                                         static_cast<std::int64_t>(calls_for_one)});
        // Without trials, it must see whether the machine changes.
        if (point.search.is_settled())
            calls = point.round.calls = std::max(calls, OnlineSearch::fewest_watched * apart);
        const auto samples = std::clamp<std::int64_t>(calls / apart, 1, samples_of_round);
        point.between_samples = std::max((calls / samples - 1) | 1, of_sample);
        point.next_sample = point.between_samples - of_sample;
    }
    point.sample_end = point.next_sample + of_sample;
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
    point.lost_ns += lost_ns;
    point.search.exclude(arm);
    take_round(point);
}

void Learner::record(Point& point, CallShape shape, double call_ns, double making_ns) {
    point.spent_ns += making_ns;
    point.lost_ns += timing_cost_ns_;
    if (shape != point.shape) {
        // One that was interrupted does not stand for others.
        const double mean_ns = point.search.mean_ns();
        const double usual = mean_ns == 0 ? call_ns : std::min(call_ns, most_of_others * mean_ns);
        point.spent_ns += call_ns + usual * std::exchange(point.untimed_others, 0);
        return;
    }
    point.times.calls += call_ns;
    point.times.making += making_ns;
    point.times.longest_making = std::max(point.times.longest_making, making_ns);
    const bool is_of_sample = is_timed(point);
    ++point.calls_done;
    if (is_of_sample) add_to_sample(point, call_ns);
    if (point.calls_done >= point.round.calls) exchange(point);
}

void Learner::add_to_sample(Point& point, double call_ns) {
    point.samples[point.sampled] += call_ns / static_cast<double>(point.search.calls_of_sample());
    if (point.calls_done < point.sample_end) return;
    ++point.sampled;
    const bool was_last = point.sampled == point.samples.size();
    point.next_sample = was_last ? point.round.calls : point.next_sample + point.between_samples;
    point.sample_end += point.between_samples;
}

// All calls of a trial are timed. In the incumbent's round, samples are extrapolated to all calls.
void Learner::exchange(Point& point) {
    if (point.round.arm == point.search.incumbent() && point.sampled > 0) {
        const auto samples = std::span(point.samples).first(point.sampled);
        point.times.calls = static_cast<double>(point.round.calls) *
                            std::accumulate(samples.begin(), samples.end(), 0.0) /
                            static_cast<double>(point.sampled);
    }
    point.spent_ns += point.times.calls;
    const Report mine{.spent = point.spent_ns,
                      .calls = point.times.calls,
                      .making = point.times.making,
                      .longest_making = point.times.longest_making,
                      .exchange = my_exchange_ns_,
                      .lost = point.lost_ns,
                      .samples = point.samples};
    const std::int64_t began = now_ns();
    const Report all = exchanged(world_, mine);
    exchange_ns_ = all.exchange;
    point.budget.spend(all.spent);
    point.budget.lose(all.lost);
    point.lost_ns = 0;
    const RoundTimes times{.samples = std::span(all.samples).first(point.sampled),
                           .calls = all.calls,
                           .making = all.making,
                           .longest_making = all.longest_making,
                           .exchange = all.exchange};
    point.search.record(point.round, times, point.budget);
    take_round(point);
    point.spent_ns = my_exchange_ns_ = ns_since(began);
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
