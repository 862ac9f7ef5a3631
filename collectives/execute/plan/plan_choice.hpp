// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace tutti {

/// Which of several plans of the same call does the next run, where all ranks must take the same
/// one and the fastest depends on where cores and buffers lie, and so changes within seconds. Every
/// rank counts the same runs, so they try the plans at the same time, a few runs in a row of each;
/// then they tell each other their times, and all decide alike.
///
/// The first run takes the guess, as it may stay the only one. A trial follows at once, and then
/// again after so many runs that the slower plans cost 2 % of all.
class PlanChoice {
public:
    static constexpr int most_plans = 4;
    /// What one rank tells the others: the typical time of each plan, in ns.
    using Times = std::array<std::int64_t, most_plans>;

    /// Between so many plans, of which `guess` is taken first.
    PlanChoice(int plans, int guess) : plans_(plans), best_(guess) {}

    /// Whether the next run must begin with agree().
    bool must_agree() const { return tried_ == plans_; }
    /// The plan of the next run; of one that must begin with agree(), after that.
    int current() const {
        return is_trial() ? (best_ + tried_) % plans_ : best_;  // the best so far comes first
    }
    /// The fastest as far as is known.
    int best() const { return best_; }
    /// Of this rank in the trial that has ended.
    Times times() const {
        Times all{};
        for (std::size_t plan = 0; plan < all.size(); ++plan) all[plan] = typical(last_[plan]);
        return all;
    }

    /// A run of the current plan took this rank so long.
    void took(std::int64_t ns) {
        if (!is_trial()) {
            if (--left_ == 0) tried_ = 0;
            return;
        }
        // The first one finds the caches as another plan left them.
        if (runs_of_plan_ > 0) last_[static_cast<std::size_t>(current())][runs_of_plan_ - 1] = ns;
        if (++runs_of_plan_ <= counted) return;
        runs_of_plan_ = 0;
        ++tried_;
    }

    /// Decides by the times() of all ranks, this one's among them: a call takes as long as its
    /// slowest rank.
    void agree(std::span<const Times> of_all) {
        Times slowest{};
        for (const Times& times : of_all)
            for (std::size_t plan = 0; plan < times.size(); ++plan)
                slowest[plan] = std::max(slowest[plan], times[plan]);
        const auto end = slowest.begin() + plans_;
        const auto least = std::min_element(slowest.begin(), end);
        best_ = static_cast<int>(least - slowest.begin());
        std::int64_t lost = 0;
        for (auto time = slowest.begin(); time != end; ++time)
            lost += (counted + 1) * (*time - *least);
        left_ = std::clamp<std::int64_t>(50 * lost / std::max<std::int64_t>(*least, 1), 64, 4096);
        tried_ = none;
    }

private:
    static constexpr int none = -1;
    static constexpr std::int64_t counted = 3;  // runs of a trial of one plan
    using Last = std::array<std::int64_t, counted>;

    // The middle one is not disturbed by a single bad one.
    static std::int64_t typical(Last times) {
        std::ranges::sort(times);
        return times[counted / 2];
    }
    bool is_trial() const { return tried_ >= 0 && tried_ < plans_; }

    int plans_;
    int best_;
    int tried_ = none;       // plans of the current trial that were tried; none: there is none
    std::int64_t left_ = 1;  // runs until the next trial
    std::size_t runs_of_plan_ = 0;  // in the current trial
    std::array<Last, most_plans> last_{};
};

}  // namespace tutti
