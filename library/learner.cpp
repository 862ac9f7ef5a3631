// SPDX-License-Identifier: Apache-2.0
#include "library/learner.hpp"

#include <algorithm>
#include <bit>
#include <numeric>

#include "autotune/choice/default_choice.hpp"
#include "base/clock.hpp"

namespace tutti {
namespace {

// Calls of other sorts in a row after which the timed one is no longer waited for.
constexpr int patience = 64;

// No machine is much faster than that: a call and its bytes, for the length of the first turn.
constexpr double least_call_ns = 500, least_ns_per_byte = 0.02;

// What a rank tells the others at the end of a turn. The slowest rank's times count; but a meeting
// takes as long as for the rank that comes last, as the others have waited for that one.
struct Report {
    double spent = 0, calls = 0, making = 0, longest_making = 0, meeting = 0, lost = 0;
    std::array<double, Learner::samples_of_turn> samples{};
};

void take_slowest(Report& all, const Report& one) {
    all.spent = std::max(all.spent, one.spent);
    all.calls = std::max(all.calls, one.calls);
    all.making = std::max(all.making, one.making);
    all.longest_making = std::max(all.longest_making, one.longest_making);
    all.meeting = std::min(all.meeting, one.meeting);
    all.lost = std::max(all.lost, one.lost);
    for (std::size_t i = 0; i < all.samples.size(); ++i)
        all.samples[i] = std::max(all.samples[i], one.samples[i]);
}

Report exchanged(World& world, const Report& mine, double& meeting_ns) {
    const std::int64_t began = now_ns();
    const auto all = gather_all(world, mine);
    meeting_ns = static_cast<double>(now_ns() - began);
    Report slowest = all.front();
    for (const Report& one : all) take_slowest(slowest, one);
    return slowest;
}

// Odd, as programs alternate between buffers and lengths, and all should have a turn.
std::int64_t between_timed(const Turn& turn) {
    return std::max<std::int64_t>(turn.calls / Learner::samples_of_turn, 1) | 1;
}

BufferKind kind_of_buffers(const CallKey& key) {
    return key.is_registered() ? BufferKind::registered : BufferKind::unregistered;
}

}  // namespace

// The first exchanges find cold caches, and ranks that come late.
Learner::Learner(World& world, Learning learning)
    : world_(world), learning_(std::move(learning)), account_(learning_.bound) {
    if (!(learning_.bound > 0 && learning_.bound < 1))
        throw Error("what learning may cost is a share between 0 and 1; give for example 0.05");
    exchanged(world, {}, my_meeting_ns_);
    for (int i = 0; i < 8; ++i) {
        double now = 0;
        exchanged(world, {}, now);
        my_meeting_ns_ = std::min(my_meeting_ns_, now);
    }
    double last = 0;
    meeting_ns_ = exchanged(world, {.meeting = my_meeting_ns_}, last).meeting;
}

Learner::Kind Learner::kind_of(const CallKey& key) const {
    const Call& call = key.call;
    const auto bytes = static_cast<std::uint64_t>(total_bytes(call, world_.size()));
    return {{call.collective, class_of(call.collective, call.type),
             class_of(call.collective, call.op), kind_of_buffers(key)},
            static_cast<int>(std::bit_width(bytes))};
}

Learner::Sort Learner::sort_of(const CallKey& key) const {
    const auto bytes = static_cast<std::uint64_t>(total_bytes(key.call, world_.size()));
    // The two bits below the highest one.
    const int below = std::max(static_cast<int>(std::bit_width(bytes)) - 3, 0);
    return {.quarter = static_cast<int>(bytes >> below & 3), .in_place = key.in_place};
}

Learner::Spot* Learner::find(const CallKey& key) {
    const auto known = spots_.find(kind_of(key));
    return known == spots_.end() ? nullptr : &known->second;
}

Learner::Spot& Learner::begin(const CallKey& key, const Configuration& incumbent) {
    const Kind kind = kind_of(key);
    const Collective collective = key.call.collective;
    std::vector<Configuration> arms{incumbent};
    const auto others =
        learning_.arms ? learning_.arms(collective) : all_choices(collective, world_);
    for (const Configuration& other : others)
        if (std::ranges::find(arms, other) == arms.end()) arms.push_back(other);
    const auto bytes = static_cast<double>(total_bytes(key.call, world_.size()));
    const Lesson lesson({.arms = static_cast<int>(arms.size()),
                         .incumbent = 0,
                         .meeting_ns = meeting_ns_,
                         .least_call_ns = least_call_ns + bytes * least_ns_per_byte});
    Spot& spot = spots_
                     .emplace(kind, Spot{.subject = kind.first,
                                         .octave = kind.second,
                                         .arms = std::move(arms),
                                         .lesson = lesson,
                                         .example = key,
                                         .sort = sort_of(key)})
                     .first->second;
    take_turn(spot);
    return spot;
}

void Learner::take_turn(Spot& spot) {
    spot.turn = spot.lesson.next(account_);
    spot.calls_done = 0;
    spot.times = {};
    spot.samples = {};
    spot.sampled = 0;
    spot.next_timed = between_timed(spot.turn) - 1;
}

int Learner::arm_for(Spot& spot, const CallKey& key) {
    const Sort sort = sort_of(key);
    if (sort == spot.sort) {
        spot.others_in_a_row = 0;
        return spot.turn.arm;
    }
    if (++spot.others_in_a_row < patience || key.form == Form::nonblocking)
        return spot.lesson.incumbent();
    spot.example = key;
    spot.sort = sort;
    spot.others_in_a_row = 0;
    spot.lesson.plans_are_gone();
    take_turn(spot);
    return spot.turn.arm;
}

void Learner::cannot(Spot& spot, int arm, double lost_ns) {
    lost_ns_ += lost_ns;
    spot.lesson.cannot(arm);
    take_turn(spot);
}

void Learner::took(Spot& spot, Sort sort, double call_ns, double making_ns) {
    spent_ns_ += making_ns;
    if (sort != spot.sort) {
        spent_ns_ += call_ns;
        return;
    }
    spot.times.calls += call_ns;
    spot.times.making += making_ns;
    spot.times.longest_making = std::max(spot.times.longest_making, making_ns);
    if (is_timed(spot)) {
        spot.samples[spot.sampled++] = call_ns;
        spot.next_timed += between_timed(spot.turn);
    }
    if (++spot.calls_done >= spot.turn.calls) meet(spot);
}

// All of a try were timed; of the incumbent's turn the samples stand for the others.
void Learner::meet(Spot& spot) {
    if (spot.turn.arm == spot.lesson.incumbent() && spot.sampled > 0) {
        const auto samples = std::span(spot.samples).first(spot.sampled);
        spot.times.calls = static_cast<double>(spot.turn.calls) *
                           std::accumulate(samples.begin(), samples.end(), 0.0) /
                           static_cast<double>(spot.sampled);
    }
    spent_ns_ += spot.times.calls;
    const Report mine{.spent = spent_ns_,
                      .calls = spot.times.calls,
                      .making = spot.times.making,
                      .longest_making = spot.times.longest_making,
                      .meeting = my_meeting_ns_,
                      .lost = lost_ns_,
                      .samples = spot.samples};
    const Report slowest = exchanged(world_, mine, my_meeting_ns_);
    spent_ns_ = my_meeting_ns_;
    meeting_ns_ = slowest.meeting;
    account_.spend(slowest.spent);
    account_.lose(slowest.lost);
    lost_ns_ = 0;
    const TurnTimes times{.samples = std::span(slowest.samples).first(spot.sampled),
                          .calls = slowest.calls,
                          .making = slowest.making,
                          .longest_making = slowest.longest_making,
                          .meeting = slowest.meeting};
    spot.lesson.took(spot.turn, times, account_);
    take_turn(spot);
}

namespace {

RangeEvidence evidence_of(const Learner::Spot& spot, int ranks) {
    RangeEvidence seen{.size = Bytes{total_bytes(spot.example.call, ranks)}};
    seen.time = *spot.lesson.time_of(spot.lesson.incumbent());
    if (const auto second = spot.lesson.runner_up()) {
        seen.runner_up = spot.arms[static_cast<std::size_t>(*second)];
        seen.runner_up_time = spot.lesson.time_of(*second);
    }
    return seen;
}

}  // namespace

// Spots of a subject come in the order of sizes.
std::vector<Section> Learner::learnt(const JobShape& setting) const {
    std::vector<Section> sections;
    for (const auto& [kind, spot] : spots_) {
        const int best = spot.lesson.incumbent();
        if (!spot.lesson.time_of(best)) continue;
        if (sections.empty() || sections.back().subject != spot.subject)
            sections.push_back({.setting = setting, .subject = spot.subject});
        Section& section = sections.back();
        section.is_complete = section.is_complete && spot.lesson.is_settled();
        const Configuration& choice = spot.arms[static_cast<std::size_t>(best)];
        if (section.ranges.empty() || section.ranges.back().choice != choice) {
            const Bytes from{section.ranges.empty() || spot.octave == 0
                                 ? 0
                                 : std::int64_t{1} << (spot.octave - 1)};
            section.ranges.push_back({.from = from, .choice = choice, .origin = Origin::learnt});
        }
        section.ranges.back().evidence.push_back(evidence_of(spot, setting.ranks));
    }
    return sections;
}

}  // namespace tutti
