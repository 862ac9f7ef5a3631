// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <deque>
#include <span>

namespace tutti {

/// A message to another host and its answer: `sent` and `back` in ns by the clock of the asking
/// host, `there` by the clock of the answering one.
struct Ping {
    std::int64_t sent, there, back;
};

/// The offset of another clock, estimated from pings.
struct ClockOffset {
    std::int64_t at_ns = 0;      ///< when, by the own clock: the mean of the pings used
    std::int64_t offset_ns = 0;  ///< the other clock minus the own one
    std::int64_t bound_ns = 0;   ///< of the error, valid for any network

    bool operator==(const ClockOffset&) const = default;
};

/// Estimates the offset from one or more pings. Takes the shortest time there and the shortest time
/// back of all pings, and assumes that they are equal (SKaMPI's method), so disturbed pings do not
/// matter. If they are not equal, half of the difference is in the offset, which no ping can show;
/// `bound_ns` is half of their sum.
ClockOffset estimate_offset(std::span<const Ping> pings);

/// Predicts another clock from estimates of its offset: a line through the latest of them. Its
/// slope (the drift) is the median slope of all pairs, so that a wrong estimate does not bend it.
/// Ignores estimates whose bound is more than twice the best one.
class ClockModel {
public:
    /// Adds an estimate. Drops all earlier ones if it differs from the prediction by more than its
    /// bound, because a clock was set or is being slewed. With fewer than three estimates, any
    /// usual drift (500 ppm) is allowed for.
    void learn(const ClockOffset& estimate);

    /// Return the other clock's time when the own clock says `mine`, and the inverse.
    std::int64_t other(std::int64_t mine) const { return mine + offset(mine); }
    std::int64_t mine(std::int64_t other) const;

    /// Returns the other clock minus the own one at a time of the own one. 0 before the first
    /// estimate.
    std::int64_t offset(std::int64_t mine) const;

    /// Returns the relative speed of the other clock minus 1.
    double drift() const { return line_.drift; }

    /// Returns how long after the last estimate predictions are accurate enough: half the time
    /// spanned by the estimates, at least 0.1 s, at most a second. 0 before the first.
    std::int64_t trusted_ns() const;

    /// The data needed for predictions; trivially copyable, so that it can be sent to other ranks.
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
