// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <optional>
#include <span>

#include "results/statistics/statistics.hpp"

namespace tutti {

/// The natural logarithm of a time or of a ratio in one launch, and how far its 95 % interval
/// reaches below and above; infinitely far where the interval is unknown.
struct LogValue {
    double value = 0;
    double below = 0;
    double above = 0;
};

/// A ratio of times (or a time in ns) over all launches, with its 95 % interval.
struct Ratio {
    double value = 1;
    double low = 0, high = 0;  ///< both 0 where the interval is unknown
    int launches = 0;

    bool is_known() const { return high > 0; }
    /// Whether the interval excludes that both are equal.
    bool is_significant() const { return low > 1 || (is_known() && high < 1); }
};

/// Whether two times whose ratio has no interval may be tied: within the best's interval, or at
/// most 10 % above the best.
bool is_near(const Ratio& time, const Ratio& best);

/// No call takes no time: a clock may show 0, a logarithm cannot.
inline constexpr double least_ns = 0.5;

/// The median of a launch. Times are whole nanoseconds, so its interval reaches at least half of
/// one to both sides. Fewer than six samples have no interval.
LogValue log_of_median(const Summary& time);

/// The ratio of two times of the same launch. The distances to the interval's ends add in squares
/// (MOVER: Zou and Donner 2008, Stat. Med. 27).
LogValue log_ratio(const LogValue& above, const LogValue& below);

/// The geometric mean of ratios (of the sizes, say) of one launch; unknown if one of them is.
LogValue mean_of(std::span<const LogValue> ratios);

/// Combines one value of each launch; nothing of no launch. Candidates alternate within a launch,
/// so what slows a whole launch down is in none of its ratios.
/// One launch: its own interval, which does not cover other launches. Two to five: the geometric
/// mean and Student's t, no narrower than the intervals within the launches allow. From six on: the
/// median and order statistics, which assume no distribution.
std::optional<Ratio> over_launches(std::span<const LogValue> launches);

}  // namespace tutti
