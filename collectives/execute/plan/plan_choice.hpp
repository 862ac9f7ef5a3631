// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <utility>

#include "base/index.hpp"

namespace tutti {

/// Chooses which of several plans of the same call does the next run. All ranks must use the same
/// plan. The fastest depends on the placement of cores and buffers, and can change within seconds.
/// All ranks count the same runs, so they try the plans at the same time, a few runs each. Then
/// they exchange their times and decide alike.
///
/// The first run uses the first plan, as it may stay the only run. A short trial follows at once.
/// Later trials are so rare that the slower plans cost 2 % of the time. But the first trial is
/// repeated after 32 to 128 runs, in case it was disturbed. So is a trial that changed the choice,
/// or in which a slow plan was no longer slow. This wait doubles while that continues. A plan is
/// slow if it cost more than 1.5 times the least in the last trial. A slow plan has a single run in
/// the next trial. That run finds cold caches, so every fourth trial also runs it untimed first.
class PlanChoice {
public:
    static constexpr int most_plans = 4;
    /// The typical time of each plan on one rank, in ns for calls of the same length.
    using Times = std::array<std::int64_t, most_plans>;

    /// A trial does not time the first `ignored` runs of a plan: the caches still hold the data of
    /// another plan, and these runs may be the first ones in their memory.
    explicit PlanChoice(int plans, int ignored = 1) : plans_(plans), ignored_(as_size(ignored)) {}

    /// Returns whether the next run must begin with agree().
    bool must_agree() const { return tried_ == plans_; }
    /// Returns the plan of the next run. If agree() must be called first, valid after it.
    int current() const {
        return is_trial() ? (best_ + tried_) % plans_ : best_;  // the best so far comes first
    }
    /// Returns the fastest plan known so far.
    int best() const { return best_; }
    /// Returns this rank's times in the trial that has ended.
    Times times() const {
        Times all{};
        for (std::size_t plan = 0; plan < all.size(); ++plan)
            all[plan] = typical(last_[plan], counted_[plan]);
        return all;
    }

    /// Returns whether record() needs the time of the next run.
    bool is_trial() const { return tried_ >= 0 && tried_ < plans_; }
    /// Records the time that a run of the current plan has taken on this rank. `bytes`: the size of
    /// the call, by total_bytes(). Both are ignored unless it is a trial.
    void record(std::int64_t ns, std::int64_t bytes) {
        if (!is_trial()) {
            if (--left_ == 0) tried_ = 0;
            return;
        }
        const auto plan = as_size(current());
        const std::size_t ignored = ignored_runs(plan);
        if (runs_of_plan_ == ignored) last_[plan].fill(std::numeric_limits<std::int64_t>::max());
        if (runs_of_plan_ >= ignored)
            last_[plan][runs_of_plan_ - ignored] = ns * unit / (bytes + latency);
        if (++runs_of_plan_ < ignored + counted_[plan]) return;
        runs_of_plan_ = 0;
        ++tried_;
    }

    /// Chooses by the times() of all ranks, including this one. The cost of a plan is the time of
    /// its slowest rank plus the mean of all: ranks that leave earlier have more time for other
    /// work.
    void agree(std::span<const Times> of_all) {
        Times slowest{}, costs{};
        for (const Times& times : of_all)
            for (std::size_t plan = 0; plan < times.size(); ++plan) {
                slowest[plan] = std::max(slowest[plan], times[plan]);
                costs[plan] += times[plan] / std::ssize(of_all);
            }
        for (std::size_t plan = 0; plan < costs.size(); ++plan) costs[plan] += slowest[plan];
        const auto least = std::min_element(costs.begin(), costs.begin() + plans_);
        const int before = std::exchange(best_, static_cast<int>(least - costs.begin()));
        const bool is_first = ended_++ == 0;
        bool is_confirmed = !is_first && best_ == before;
        std::int64_t lost = 0;
        for (std::size_t plan = 0; plan < as_size(plans_); ++plan) {
            const bool was_slow = is_slow(plan);
            counted_[plan] = costs[plan] > *least + *least / 2 ? counted_slow : counted_close;
            is_confirmed = is_confirmed && (!was_slow || is_slow(plan));
            lost += static_cast<std::int64_t>(ignored_runs(plan) + counted_[plan]) *
                    (costs[plan] - *least);
        }
        const std::int64_t rare = 50 * lost / std::max<std::int64_t>(*least, 1);
        left_ = is_confirmed ? std::clamp<std::int64_t>(rare, 256, 4096)
                             : std::clamp<std::int64_t>(rare / 8, soon_, 4 * soon_);
        soon_ = is_first || is_confirmed ? soonest : std::min<std::int64_t>(2 * soon_, 1024);
        tried_ = none;
    }

private:
    static constexpr int none = -1;
    static constexpr std::int64_t soonest = 32;
    // Timed runs of one plan in the first trial, and in later ones: of a plan that is not slow, and
    // of a slow one.
    static constexpr std::size_t counted_first = 2, counted_close = 3, counted_slow = 1;
    // Calls of a plan have different lengths, so times for `unit` bytes are compared. A call
    // without data takes as long as moving `latency` bytes.
    static constexpr std::int64_t unit = 1 << 20, latency = 8 << 10;
    using Last = std::array<std::int64_t, counted_close>;

    // Returns the median, which ignores a single outlier; of two times, the smaller one. Entries
    // that are not counted are the largest number, so they come last.
    static std::int64_t typical(Last times, std::size_t counted) {
        std::ranges::sort(times);
        return times[(counted - 1) / 2];
    }

    bool is_slow(std::size_t plan) const { return counted_[plan] == counted_slow; }
    // Returns the number of untimed runs of a plan in the current trial; between trials, in the
    // next one.
    std::size_t ignored_runs(std::size_t plan) const {
        const bool is_fourth = ended_ % 4 == 3;
        return is_slow(plan) && !is_fourth ? 0 : ignored_;
    }

    int plans_;
    std::size_t ignored_;
    int best_ = 0;
    int ended_ = 0;                 // trials that have ended
    std::int64_t soon_ = soonest;   // least runs until a trial that confirms the choice
    int tried_ = none;              // plans that the current trial has tried; none: no trial runs
    std::int64_t left_ = 1;         // runs until the next trial
    std::size_t runs_of_plan_ = 0;  // in the current trial
    std::array<std::size_t, most_plans> counted_{counted_first, counted_first, counted_first,
                                                 counted_first};
    std::array<Last, most_plans> last_{};
};

}  // namespace tutti
