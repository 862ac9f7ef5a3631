// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <array>
#include <map>
#include <vector>

#include "autotune/online/learn.hpp"
#include "collectives/world/world.hpp"
#include "library/call_key.hpp"
#include "tutti/communicator.hpp"

namespace tutti {

/// The online searches of a communicator: one for each subject and octave of sizes. Only blocking
/// calls of one quarter of an octave are timed, as their times are close to each other; all others
/// use what they found. Ranks exchange their times within the last call of a round, so that all go
/// on with the same arm. All members but learnt() are called alike on all ranks.
class Learner {
public:
    /// Collective.
    Learner(World& world, Learning learning);

    static constexpr std::int64_t samples_of_round = 16;

    /// What calls of a point have in common that take about the same time.
    struct CallShape {
        int quarter = 0;  ///< of the octave
        bool in_place = false;
        bool operator==(const CallShape&) const = default;
    };
    CallShape shape_of(const CallKey& key) const;

    /// A search and the round under way: of one subject and octave.
    struct Point {
        Subject subject;
        int octave = 0;
        std::vector<Configuration> arms;
        OnlineSearch search;
        CallKey example;       ///< calls like that are timed and tried
        CallShape shape = {};  ///< of the example
        int others_in_a_row = 0;
        Round round = {};
        std::int64_t calls_done = 0, next_timed = 0;
        RoundTimes times = {};  ///< on this rank
        std::array<double, samples_of_round> samples = {};
        std::size_t sampled = 0;
    };

    /// Null if nothing is known of such calls yet: then begin() with what does them now.
    Point* find(const CallKey& key);
    Point& begin(const CallKey& key, const Configuration& incumbent);

    /// The arm for this call. If it cannot do the call: exclude() it, and ask again.
    int arm_for(Point& point, const CallKey& key);
    void exclude(Point& point, int arm, double lost_ns);

    /// Counts a call of the incumbent's round that is neither timed nor the round's last, and
    /// returns true: it is then done as before. Most calls are such, and small ones take less time
    /// than reading the clock.
    bool passes(Point& point, int arm, CallShape shape) {
        const bool is_one = arm == point.round.arm && arm == point.search.incumbent() &&
                            shape == point.shape && !is_timed(point) &&
                            point.calls_done + 1 < point.round.calls;
        if (!is_one) return false;
        point.others_in_a_row = 0;
        ++point.calls_done;
        return true;
    }

    /// Takes the times of a call and of making its plan on this rank. Collective where a round
    /// ends.
    void record(Point& point, CallShape shape, double call_ns, double making_ns);

    std::vector<Section> learnt(const JobShape& job_shape) const;

private:
    using Kind = std::pair<Subject, int>;
    // Evenly from among the calls of a round.
    static bool is_timed(const Point& point) {
        return point.calls_done == point.next_timed && point.sampled < point.samples.size();
    }
    Kind kind_of(const CallKey& key) const;
    void take_round(Point& point);
    void exchange(Point& point);

    World& world_;
    Learning learning_;
    RegretBudget budget_;
    std::map<Kind, Point> points_;
    double lost_ns_ = 0;         // by this rank since then, with arms that could not be had
    double spent_ns_ = 0;        // by this rank since the last exchange
    double my_exchange_ns_ = 0;  // of the last exchange, as this rank saw it
    double exchange_ns_ = 0;     // the same as all have agreed on
};

}  // namespace tutti
