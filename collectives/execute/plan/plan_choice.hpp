// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace tutti {

/// Chooses between several plans of the same call at run time. All ranks must take the same plan,
/// and the fastest one depends on where cores and buffers lie, so it changes within seconds. Every
/// rank counts the same runs, so all try the plans at the same time, a few runs in a row of each;
/// then they exchange their times, and all make the same decision.
///
/// The first run takes the guess, because it may be the only one. A trial follows at once, and
/// later trials are so rare that the slower plans cost 2 % of the total time.
class PlanChoice {
public:
    static constexpr int most_plans = 4;
    /// One rank's typical time of each plan, in ns, as sent to the other ranks.
    using Times = std::array<std::int64_t, most_plans>;

    /// Chooses between `plans` plans; `guess` comes first.
    PlanChoice(int plans, int guess) : plans_(plans), best_(guess) {}

    /// Whether the next run must begin with agree().
    bool must_agree() const { return tried_ == plans_; }
    /// Returns the plan of the next run; if it must begin with agree(), only after that.
    int current() const {
        return is_trial() ? (best_ + tried_) % plans_ : best_;  // the best so far comes first
    }
    /// Returns the fastest plan so far.
    int best() const { return best_; }
    /// Returns this rank's times in the trial that has ended.
    Times times() const {
        Times all{};
        for (std::size_t plan = 0; plan < all.size(); ++plan) all[plan] = typical(last_[plan]);
        return all;
    }

    /// Records the duration of a run of the current plan on this rank.
    void took(std::int64_t ns) {
        if (!is_trial()) {
            if (--left_ == 0) tried_ = 0;
            return;
        }
        // The first run does not count: another plan has filled the caches.
        if (runs_of_plan_ > 0) last_[static_cast<std::size_t>(current())][runs_of_plan_ - 1] = ns;
        if (++runs_of_plan_ <= counted) return;
        runs_of_plan_ = 0;
        ++tried_;
    }

    /// Decides by the times() of all ranks, including this one: a call takes as long as its slowest
    /// rank.
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
    static constexpr std::int64_t counted = 3;  // runs of one plan in a trial
    using Last = std::array<std::int64_t, counted>;

    // The median is not affected by a single outlier.
    static std::int64_t typical(Last times) {
        std::ranges::sort(times);
        return times[counted / 2];
    }
    bool is_trial() const { return tried_ >= 0 && tried_ < plans_; }

    int plans_;
    int best_;
    int tried_ = none;              // plans tried in the current trial; none: no trial
    std::int64_t left_ = 1;         // runs until the next trial
    std::size_t runs_of_plan_ = 0;  // in the current trial
    std::array<Last, most_plans> last_{};
};

}  // namespace tutti
