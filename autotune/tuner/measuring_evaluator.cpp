// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <limits>

#include "autotune/tuner/hold_out.hpp"
#include "base/index.hpp"
#include "base/rounding.hpp"

namespace tutti {

std::vector<Variant> variants_of(const std::vector<Candidate>& candidates) {
    std::vector<Variant> variants;
    std::map<std::array<std::string, 3>, int> families;
    std::array<std::set<std::int64_t>, knobs.size()> values;
    for (const Candidate& candidate : candidates) {
        const Configuration& one = candidate.configuration;
        const int next = static_cast<int>(families.size());
        const int family =
            families.try_emplace({one.impl, one.algorithm, one.transport}, next).first->second;
        for (std::size_t i = 0; i < knobs.size(); ++i) values[i].insert(knobs[i].of(one));
        variants.push_back({candidate, {.family = family}});
    }
    for (Variant& variant : variants)
        for (std::size_t i = 0; i < knobs.size(); ++i) {
            const auto value = values[i].find(knobs[i].of(variant.candidate.configuration));
            variant.arm.level[i] = static_cast<int>(std::distance(values[i].begin(), value));
        }
    return variants;
}

bool carries_enough(const Configuration& configuration, Bytes vector) {
    constexpr std::int64_t least_share = 4096;
    return configuration.channels <= 1 || vector.count >= configuration.channels * least_share;
}

Call call_of(const MeasuringEvaluator::Race& race, int ranks, Bytes size) {
    const Collective collective = race.subject.collective;
    return {.collective = collective,
            .type = race.type,
            .op = race.op,
            .count = count_for(collective, race.type, ranks, size)};
}

MeasuringEvaluator::MeasuringEvaluator(Planner& planner, const BufferPool& pool, const Race& race,
                                       const std::vector<Variant>& variants, Prediction prediction,
                                       std::function<bool()> is_over)
    : planner_(planner),
      world_(planner.world()),
      pool_(pool),
      race_(race),
      variants_(variants),
      prediction_(std::move(prediction)),
      is_over_(std::move(is_over)) {
    for (const Variant& variant : variants) arms_.push_back(variant.arm);
}

// Two schedules can be equal at one size only: a chain in segments of 8 KiB is a tree for 8 bytes.
const std::set<int>& MeasuringEvaluator::distinct_at(Bytes size) const {
    const auto [place, is_new] = distinct_.try_emplace(size);
    if (!is_new) return place->second;
    std::vector<Candidate> all;
    for (const Variant& variant : variants_) all.push_back(variant.candidate);
    std::set<Configuration> others;
    for (const Candidate& one :
         distinct(all, call_of(race_, world_.size(), size), race_.environment))
        others.insert(one.configuration);
    for (std::size_t arm = 0; arm < variants_.size(); ++arm)
        if (others.contains(all[arm].configuration)) place->second.insert(static_cast<int>(arm));
    return place->second;
}

bool MeasuringEvaluator::takes_part(int arm, Bytes size) const {
    const Call call = call_of(race_, world_.size(), size);
    const Bytes vector{call.count * static_cast<std::int64_t>(size_of(call.type))};
    return !wrong_.contains(arm) && distinct_at(size).contains(arm) &&
           carries_enough(at(variants_, arm).candidate.configuration, vector);
}

bool MeasuringEvaluator::can_run(int arm, const Call& call) {
    const Variant& variant = at(variants_, arm);
    if (!takes_part(arm, size_)) return false;
    const bool runs =
        !refusal(planner_, variant.candidate, call, buffers_, race_.environment.hosts);
    return true_on_all_ranks(world_, runs);
}

// Frees the plans of the previous size.
void MeasuringEvaluator::go_to(Bytes size) {
    if (size == size_) return;
    runners_.clear();
    size_ = size;
    call_ = call_of(race_, world_.size(), size);
    buffers_ = pool_.buffers_for(call_, false, race_.subject.buffers);
}

// All ranks use rank 0's logarithms, because another processor may round them differently and all
// must decide alike.
void MeasuringEvaluator::check_all_agree(Bytes size, std::span<const int> arms,
                                         int repetitions) const {
    std::uint64_t digest =
        static_cast<std::uint64_t>(size.count) * 31 + static_cast<unsigned>(repetitions);
    for (const int arm : arms) digest = digest * 1'000'003 + static_cast<unsigned>(arm);
    if (!true_on_all_ranks(world_, from_rank0(world_, digest) == digest))
        throw Error(
            "ranks disagree on the variants to measure next, because their processors round "
            "differently; use --search exhaustive",
            Exit::time_out);
}

MeasuringEvaluator::Runner& MeasuringEvaluator::runner_of(int arm) {
    const auto [place, is_new] = runners_.try_emplace(arm);
    Runner& runner = place->second;
    if (is_new)
        runner.operation =
            operation_of(planner_, at(variants_, arm).candidate, call_, buffers_, race_.environment)
                .operation;
    // Checks each arm once, because checks of large vectors take longer than their calls.
    const bool check = checked_.insert(arm).second;
    runner.trial = trial_of(*runner.operation, world_, call_, buffers_, check);
    return runner;
}

std::vector<std::vector<double>> MeasuringEvaluator::race(Bytes size, std::span<const int> arms,
                                                          int repetitions) {
    check_all_agree(size, arms, repetitions);
    std::vector<std::vector<double>> times(arms.size());
    go_to(size);
    std::vector<Trial> trials;
    std::vector<std::size_t> place_of;
    Protocol protocol = race_.protocol;
    protocol.seed += ++number_;
    protocol.fixed_samples = repetitions;
    bool is_continued = true;
    for (std::size_t i = 0; i < arms.size(); ++i) {
        if (!can_run(arms[i], call_)) continue;
        is_continued = is_continued && runners_.contains(arms[i]);
        trials.push_back(runner_of(arms[i]).trial);
        place_of.push_back(i);
    }
    if (is_continued) protocol.warm_up_calls = 0;
    const auto measured = measure(world_, trials, protocol);
    for (std::size_t i = 0; i < measured.size(); ++i) {
        const int arm = arms[place_of[i]];
        if (measured[i].check.state == CheckState::fail)
            wrong_.insert(arm);
        else
            times[place_of[i]].assign(measured[i].samples.begin(), measured[i].samples.end());
    }
    return times;
}

// A prediction walks a whole schedule, which takes milliseconds if it has many segments, and a
// search asks for all arms again and again. So each rank computes a share, once.
const std::vector<double>& MeasuringEvaluator::predictions_at(Bytes size) const {
    if (const auto known = predictions_.find(size); known != predictions_.end())
        return known->second;
    const Call call = call_of(race_, world_.size(), size);
    const std::size_t ranks = as_size(world_.size()), me = as_size(world_.rank());
    constexpr double none = std::numeric_limits<double>::quiet_NaN();
    std::vector<double> mine(divide_up(variants_.size(), ranks), none);
    for (std::size_t arm = me; arm < variants_.size(); arm += ranks)
        mine[arm / ranks] =
            prediction_(variants_[arm].candidate.configuration, call).value_or(none);
    std::vector<double> shares(ranks * mine.size());
    world_.all_gather(std::as_bytes(std::span(mine)), std::as_writable_bytes(std::span(shares)));
    std::vector<double> all;
    for (std::size_t arm = 0; arm < variants_.size(); ++arm)
        all.push_back(shares[arm % ranks * mine.size() + arm / ranks]);
    return predictions_[size] = std::move(all);
}

std::optional<double> MeasuringEvaluator::predicted_ns(int arm, Bytes size) const {
    if (!prediction_) return std::nullopt;
    const double found = at(predictions_at(size), arm);
    return std::isnan(found) ? std::nullopt : std::optional(found);
}

bool MeasuringEvaluator::is_over() const { return from_rank0(world_, is_over_()); }

}  // namespace tutti
