// SPDX-License-Identifier: Apache-2.0
#include "autotune/online/learn.hpp"

#include <cmath>

#include "results/statistics/statistics.hpp"

namespace tutti {
namespace {

// The worst case for an untested arm: the factor by which it is slower than the incumbent, and the
// factor by which its plan takes longer than any before.
constexpr double slowest_feared = 64;
constexpr double making_feared = 4;
// The share of the time of a round without trials that exchanges may take.
constexpr double share_of_exchanges = 0.005;
// The first rounds are shorter, because the time of calls is only a guess.
constexpr std::int64_t shortest_round = 8, longest_round = 1 << 16, longest_first_round = 1 << 12;
constexpr std::int64_t fewest_of_try = 2, most_of_try = 16;  // samples
// A sample takes about this long, in which ranks that share a core take a few turns.
constexpr double ns_of_sample = 8000;
constexpr double most_calls_of_sample = 16;
// Ranks leave an exchange at most this many times its duration apart.
constexpr double most_exchanges_late = 4;
// An arm must be at least this much faster to replace the incumbent.
constexpr double worth_it = 0.97;
// A ratio at which the incumbent's time counts as changed.
constexpr double is_off = 1.25;
constexpr std::size_t enough_samples = 6, enough_to_watch = 16;

// A first trial may look much slower than the arm is: the first call of a plan finds cold caches,
// and one call may be an outlier.
double dropped_beyond(std::int64_t calls) {
    if (calls <= 1) return 16;
    return calls == 2 ? 4 : 2;
}

}  // namespace

void OnlineSearch::Arm::add(std::span<const double> times) {
    for (const double time : times) {
        saw(time);
        samples[seen++ % most_samples] = time;
    }
}

void OnlineSearch::Arm::saw(double mean_ns) {
    fastest = fastest == 0 ? mean_ns : std::min(fastest, mean_ns);
    slowest = std::max(slowest, mean_ns);
}

void OnlineSearch::Arm::forget() {
    seen = 0;
    calls = 0;
    fastest = slowest = 0;
    is_in = can;
}

OnlineSearch::OnlineSearch(const Start& start)
    : arms_(static_cast<std::size_t>(start.arms)),
      incumbent_(start.incumbent),
      calls_of_sample_(static_cast<std::int64_t>(
          std::clamp(ns_of_sample / start.least_call_ns, 1.0, most_calls_of_sample))),
      exchange_ns_(start.exchange_ns),
      least_call_ns_(start.least_call_ns) {}

std::optional<TimeInterval> OnlineSearch::time_of(int number) const {
    const Arm& one = arm(number);
    if (one.count() < enough_samples) return std::nullopt;
    std::vector<std::int64_t> samples;
    for (std::size_t i = 0; i < one.count(); ++i) samples.push_back(std::llround(one.samples[i]));
    const Summary summary = summarise(samples);
    return TimeInterval{static_cast<double>(summary.p50), static_cast<double>(summary.ci95_lo),
                        static_cast<double>(summary.ci95_hi), static_cast<std::int64_t>(summary.n)};
}

std::optional<int> OnlineSearch::runner_up() const {
    std::optional<int> best;
    double best_ns = 0;
    for (int i = 0; i < static_cast<int>(arms_.size()); ++i) {
        const auto time = time_of(i);
        if (i == incumbent_ || !time || (best && time->p50 >= best_ns)) continue;
        best = i;
        best_ns = time->p50;
    }
    return best;
}

// One after the other: if the first is better, all later calls gain.
std::optional<int> OnlineSearch::next_challenger() const {
    const int count = static_cast<int>(arms_.size());
    for (int ahead = 0; ahead < count; ++ahead) {
        const int number = (last_tried_ + ahead) % count;
        if (number != incumbent_ && arm(number).is_in) return number;
    }
    return std::nullopt;
}

bool OnlineSearch::is_settled() const { return !next_challenger(); }

// The longer the challenger stays, the longer the round. Single calls come first: they show whether
// a sample is too much to lose. Later rounds have one sample more than they count: ranks leave the
// exchange before it at different times.
std::int64_t OnlineSearch::calls_of_round(const Arm& challenger) const {
    if (challenger.calls < (calls_of_sample_ == 1 ? 2 : 1)) return 1;
    const std::int64_t samples = challenger.calls / 2 / calls_of_sample_;
    return calls_of_sample_ * (1 + std::clamp(samples, fewest_of_try, most_of_try));
}

double OnlineSearch::at_risk_ns(const Arm& challenger) const {
    const double slowest =
        challenger.calls == 0
            ? slowest_feared * mean_ns_
            : std::max({std::min(challenger.slowest, 2 * challenger.fastest), mean_ns_});
    const double making = challenger.has_plans ? 0 : making_feared * making_ns_;
    return static_cast<double>(calls_of_round(challenger)) * (slowest - mean_ns_) + making +
           2 * exchange_ns_;  // this round's, and that of the incumbent's next round
}

// Those exchanges, and making the plans.
double OnlineSearch::overhead_ns(const Arm& challenger) const {
    return (challenger.has_plans ? 0 : making_ns_) + 2 * exchange_ns_;
}

// Long enough to earn the missing budget and the cost of this round's own exchange, rounded up so
// that the next round is not short again.
Round OnlineSearch::round_of_incumbent(double missing_ns, const RegretBudget& budget) const {
    const double gained = budget.usable_share() * std::max(mean_ns_, least_call_ns_);
    const double calls = std::ceil(1.5 * (std::max(missing_ns, 0.0) + exchange_ns_) / gained);
    const auto longest = static_cast<double>(mean_ns_ == 0 ? longest_first_round : longest_round);
    return {incumbent_,
            static_cast<std::int64_t>(std::clamp(
                calls, static_cast<double>(shortest_round * calls_of_sample_), longest))};
}

Round OnlineSearch::next(const RegretBudget& budget) {
    const bool is_known = arm(incumbent_).count() >= enough_samples;
    const auto challenger = next_challenger();
    if (!challenger || !is_known) {
        // Exchanges gain nothing then, so they are rare.
        const double rest = exchange_ns_ * budget.usable_share() / share_of_exchanges;
        return round_of_incumbent(
            is_known ? rest
                     : 2 * exchange_ns_ - std::min({0.0, budget.left_ns(), budget.own_left_ns()}),
            budget);
    }
    const double missing = std::max(at_risk_ns(arm(*challenger)) - budget.left_ns(),
                                    overhead_ns(arm(*challenger)) - budget.own_left_ns());
    if (missing > 0 || incumbent_is_due_) return round_of_incumbent(missing, budget);
    return {*challenger, calls_of_round(arm(*challenger))};
}

void OnlineSearch::record(const Round& round, const RoundTimes& times, RegretBudget& budget) {
    const bool is_try = round.arm != incumbent_;
    const auto calls = static_cast<double>(round.calls);
    Arm& one = arm(round.arm);
    budget.lose(times.exchange + (is_try ? times.making : 0));
    if (is_try) budget.lose(std::max(0.0, times.calls - calls * mean_ns_));
    exchange_ns_ = exchange_ns_ == 0 ? times.exchange : (exchange_ns_ + times.exchange) / 2;
    making_ns_ = std::max(making_ns_, times.longest_making);
    one.has_plans = true;
    one.calls += round.calls;
    incumbent_is_due_ = is_try;
    if (is_try) {
        if (times.samples.empty()) one.saw(times.calls / calls);
        one.add(times.samples);
        last_tried_ = round.arm;
        return evaluate(round.arm);
    }
    const double mean = times.calls / calls;
    mean_ns_ = mean_ns_ == 0 ? mean : (mean_ns_ + mean) / 2;
    watch(times.samples);
}

void OnlineSearch::evaluate(int number) {
    Arm& challenger = arm(number);
    const auto incumbent = time_of(incumbent_);
    if (!incumbent) return;
    const double late = challenger.seen == 0 ? most_exchanges_late * exchange_ns_ : 0;
    if (challenger.fastest > dropped_beyond(challenger.calls) * incumbent->p50 + late) {
        challenger.drop();
        return;
    }
    const auto time = time_of(number);
    if (!time) return;
    if (time->high < incumbent->low && time->p50 < worth_it * incumbent->p50) {
        mean_ns_ *= time->p50 / incumbent->p50;
        incumbent_ = number;
        rounds_off_ = 0;
    } else if (time->low > worth_it * incumbent->p50 || challenger.seen >= most_samples) {
        challenger.drop();
    }
}

// A slow round may be noise; two in a row are a change of the machine.
void OnlineSearch::watch(std::span<const double> samples) {
    Arm& incumbent = arm(incumbent_);
    const auto before = time_of(incumbent_);
    if (before && incumbent.count() >= enough_to_watch && std::ssize(samples) >= fewest_watched) {
        const double now = median({samples.begin(), samples.end()});
        const bool has_changed = now > is_off * before->p50 || now * is_off < before->p50;
        rounds_off_ = has_changed ? rounds_off_ + 1 : 0;
        if (rounds_off_ >= 2) return begin_anew(samples);
        if (has_changed) return;  // must not be mixed with earlier samples
    }
    incumbent.add(samples);
}

void OnlineSearch::begin_anew(std::span<const double> of_incumbent) {
    for (Arm& one : arms_) one.forget();
    arm(incumbent_).add(of_incumbent);
    rounds_off_ = 0;
}

void OnlineSearch::exclude(int number) {
    arm(number).can = arm(number).is_in = false;
    incumbent_is_due_ = true;  // the incumbent does this call instead
}

void OnlineSearch::plans_are_gone() {
    for (Arm& one : arms_) {
        one.has_plans = false;
        one.forget();
    }
    incumbent_is_due_ = true;
}

}  // namespace tutti
