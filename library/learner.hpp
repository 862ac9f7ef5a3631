// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <algorithm>
#include <array>
#include <bit>
#include <map>
#include <vector>

#include "autotune/online/learn.hpp"
#include "collectives/world/world.hpp"
#include "library/call_key.hpp"
#include "tutti/communicator.hpp"

namespace tutti {

/// Online tuning of a communicator: one search for each subject and octave of sizes, and another
/// one for its calls with blocks of different lengths. Only blocking calls of one quarter of an
/// octave are timed, as their times are similar; all others use the result. Ranks exchange their
/// times within the last call of a round, so that all continue with the same arm. All ranks must
/// make the same calls of all members except learnt().
class Learner {
public:
    /// Collective.
    Learner(World& world, Learning learning);
    Learner(const Learner&) = delete;  // searches point to its budget
    Learner& operator=(const Learner&) = delete;

    static constexpr std::int64_t samples_of_round = 16;

    /// Calls of the same point and shape take about the same time. That of small ones does not
    /// depend on their length.
    struct CallShape {
        int quarter = 0;  ///< of the octave, from least_quartered bytes on
        bool in_place = false;
        bool operator==(const CallShape&) const = default;
    };
    static constexpr std::int64_t least_quartered = 1024;
    CallShape shape_of(const CallKey& key) const;
    /// `bytes`: size of all blocks, as total_bytes() counts them.
    static CallShape shape_of(std::int64_t bytes, bool in_place) {
        if (bytes < least_quartered) return {.in_place = in_place};
        // The two bits below the highest one.
        const auto size = static_cast<std::uint64_t>(bytes);
        const int below = std::max(static_cast<int>(std::bit_width(size)) - 3, 0);
        return {.quarter = static_cast<int>(size >> below & 3), .in_place = in_place};
    }

    /// The calls of one search.
    struct Kind {
        Subject subject;
        bool has_lengths = false;  ///< different ones; the size is that of blocks like the longest
        int octave = 0;
        auto operator<=>(const Kind&) const = default;
    };
    /// The search of one kind, with its current round.
    struct Point {
        std::vector<Configuration> arms;
        OnlineSearch search;
        CallKey example;       ///< calls of its shape are timed and use the round's arm
        CallShape shape = {};  ///< of the example
        int others_in_a_row = 0;
        int untimed_others = 0;  ///< since the last timed one
        Round round = {};
        std::int64_t calls_done = 0;
        std::int64_t next_sample = 0, sample_end = 0;  ///< calls_done at its begin and end
        std::int64_t between_samples = 0;              ///< distance of their begins
        RoundTimes times = {};                         ///< measured on this rank
        RegretBudget budget;                           ///< a part of that of all searches
        /// Time lost on this rank since the last exchange: by arms that cannot run, by timing
        /// calls, and by freeing plans.
        double lost_ns = 0;
        double spent_ns = 0;  ///< on this rank since the last exchange
        std::array<double, samples_of_round> samples = {};
        std::size_t sampled = 0;
    };

    /// Returns null if there is no search for such calls yet. Then call begin() with the current
    /// configuration.
    Point* find(const CallKey& key);
    Point& begin(const CallKey& key, const Configuration& incumbent);

    /// Returns the arm for this call. If the arm cannot run, exclude() it and use the incumbent.
    int arm_for(Point& point, const CallKey& key);
    void exclude(Point& point, int arm, double lost_ns);

    /// The attention that a call by the incumbent needs.
    enum class Needs : std::uint8_t {
        nothing,  ///< it is counted: the fast path, as small calls take less time than a clock
        time,     ///< record() its time, which is not collective then
        search,   ///< ask arm_for() and record() its time
    };
    /// `arm` is the one for which the caller has a plan.
    static Needs needs_of(Point& point, int arm, CallShape shape) {
        if (arm != point.search.incumbent()) return Needs::search;
        if (shape != point.shape) return needs_of_other(point);
        if (arm != point.round.arm || point.calls_done + 1 >= point.round.calls)
            return Needs::search;
        point.others_in_a_row = 0;
        if (is_timed(point)) return Needs::time;
        ++point.calls_done;
        return Needs::nothing;
    }

    /// Records the times of a call and of making its plan on this rank. Collective at the end of a
    /// round.
    void record(Point& point, CallShape shape, double call_ns, double making_ns);

    /// Returns the results for a table, which are those for blocks of equal lengths.
    std::vector<Section> learnt(const JobShape& job_shape) const;

private:
    // After this many consecutive calls of other shapes, rounds use the current shape.
    static constexpr int most_others_in_a_row = 64;
    // Calls of other shapes count only as time spent: the time of one in this many is enough.
    static constexpr int others_per_sample = 64;

    static Needs needs_of_other(Point& point) {
        if (point.others_in_a_row + 1 >= most_others_in_a_row) return Needs::search;
        ++point.others_in_a_row;
        if (point.untimed_others + 1 >= others_per_sample) return Needs::time;
        ++point.untimed_others;
        return Needs::nothing;
    }
    static bool is_timed(const Point& point) { return point.calls_done >= point.next_sample; }
    Kind kind_of(const CallKey& key) const;
    void take_round(Point& point);
    static void add_to_sample(Point& point, double call_ns);
    void exchange(Point& point);

    World& world_;
    Learning learning_;
    RegretBudget budget_;
    std::map<Kind, Point> points_;
    double my_exchange_ns_ = 0;  // time of the last exchange on this rank
    double exchange_ns_ = 0;     // minimum over all ranks
    double timing_cost_ns_ = 0;  // cost of timing a call: maximum over all ranks
};

}  // namespace tutti
