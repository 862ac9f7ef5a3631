// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <deque>
#include <span>

namespace tutti {

/// A word to another host and its answer: `sent` and `back` by the clock of the one who asks,
/// `there` by the clock of the one who answers. ns.
struct Ping {
    std::int64_t sent, there, back;
};

/// What pings say about another clock.
struct Sighting {
    std::int64_t at_ns = 0;      ///< when, by the own clock: the mean of the pings that count
    std::int64_t offset_ns = 0;  ///< the other clock less the own one
    std::int64_t reach_ns = 0;   ///< the truth is no further away, whatever the network does

    bool operator==(const Sighting&) const = default;
};

/// From a burst of pings, at least one. The quickest way there and the quickest way back are taken
/// each for itself, from whichever ping, and are assumed to be equally long (SKaMPI's method): a
/// disturbed ping has no say. Where the ways are not equally long, half of the difference is in the
/// offset, and no pings could show it; `reach_ns` is half of the two ways together.
Sighting sight(std::span<const Ping> pings);

/// Another clock, foretold from sightings: a line through the latest of them, its slope (the
/// drift) the median slope of all pairs, so that a wrong sighting does not bend it. Those whose
/// reach is more than twice the best one's have no part in it.
class ClockModel {
public:
    /// A sighting that contradicts what was foretold by more than its reach makes all before it
    /// void (someone has set a clock, or slews it). While there are fewer than three, any drift
    /// that clocks have (500 ppm) contradicts nothing.
    void learn(const Sighting& sighting);

    /// The other clock's time when the own clock says `mine`, and the inverse.
    std::int64_t other(std::int64_t mine) const { return mine + offset(mine); }
    std::int64_t mine(std::int64_t other) const;

    /// The other clock less the own one, at a time of the own one. 0 before anything is learned.
    std::int64_t offset(std::int64_t mine) const;

    /// How much faster the other clock runs, of 1.
    double drift() const { return line_.drift; }

    /// How long, from the last sighting on, drift and offset are good enough: for half the time
    /// over which they were learned; at least 0.1 s, at most a second.
    std::int64_t trusted_ns() const;

    /// All that is needed to foretell: trivially copyable, so it may be sent to other ranks.
    struct Line {
        std::int64_t at_ns = 0;
        std::int64_t offset_ns = 0;  // at that time
        double drift = 0;
    };
    const Line& line() const { return line_; }
    void follow(const Line& line) { line_ = line; }

private:
    std::deque<Sighting> latest_;
    Line line_;
};

}  // namespace tutti
