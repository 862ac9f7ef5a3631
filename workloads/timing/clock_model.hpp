// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <deque>
#include <span>

namespace tutti {

/// A message to another host and its answer: `sent` and `back` by the clock of the host that asks,
/// `there` by the clock of the one that answers. ns.
struct Ping {
    std::int64_t sent, there, back;
};

/// The offset of another clock, as estimated from pings.
struct ClockOffset {
    std::int64_t at_ns = 0;      ///< when, by the own clock: the mean of the pings used
    std::int64_t offset_ns = 0;  ///< the other clock less the own one
    std::int64_t bound_ns = 0;   ///< of the error, whatever the network does

    bool operator==(const ClockOffset&) const = default;
};

/// From at least one ping. Of all pings the shortest time there and the shortest time back are
/// taken, and assumed to be equal (SKaMPI's method), so disturbed pings do not matter. If they are
/// not equal, half of the difference is in the offset, which no ping can show; `bound_ns` is half
/// of their sum.
ClockOffset estimate_offset(std::span<const Ping> pings);

/// Predicts another clock from estimates of its offset: a line through the latest of them, its
/// slope (the drift) the median slope of all pairs, so that a wrong estimate does not bend it.
/// Estimates whose bound is more than twice the best one's are left out.
class ClockModel {
public:
    /// All earlier estimates are dropped if this one differs from the prediction by more than its
    /// bound: someone has set a clock, or slews it. While there are fewer than three, any drift
    /// that clocks have (500 ppm) is allowed for.
    void learn(const ClockOffset& estimate);

    /// The other clock's time when the own clock says `mine`, and the inverse.
    std::int64_t other(std::int64_t mine) const { return mine + offset(mine); }
    std::int64_t mine(std::int64_t other) const;

    /// The other clock less the own one, at a time of the own one. 0 before anything is learned.
    std::int64_t offset(std::int64_t mine) const;

    /// How much faster the other clock runs, of 1.
    double drift() const { return line_.drift; }

    /// How long after the last estimate predictions are good enough: half the time over which they
    /// were learned, at least 0.1 s, at most a second. 0 before any.
    std::int64_t trusted_ns() const;

    /// All that predictions need; trivially copyable, so that it can be sent to other ranks.
    struct Line {
        std::int64_t at_ns = 0;
        std::int64_t offset_ns = 0;  // at that time
        double drift = 0;
    };
    const Line& line() const { return line_; }
    void set_line(const Line& line) { line_ = line; }

private:
    std::deque<ClockOffset> latest_;
    Line line_;
};

}  // namespace tutti
