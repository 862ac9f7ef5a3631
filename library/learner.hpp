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

/// The lessons of a communicator: one for each subject and octave of sizes. It times the blocking
/// calls of one quarter of each octave, in whatever buffers and of whatever length in it, as their
/// times are close to each other (the others take what they have found). It lets the ranks meet
/// within the last call of a turn, so that all go on with the same arm. All members but learnt()
/// are called alike on all ranks.
class Learner {
public:
    /// Collective.
    Learner(World& world, Learning learning);

    static constexpr std::int64_t samples_of_turn = 16;

    /// Calls of a spot that take about the same time.
    struct Sort {
        int quarter = 0;  ///< of the octave
        bool in_place = false;
        bool operator==(const Sort&) const = default;
    };
    Sort sort_of(const CallKey& key) const;

    /// What is learnt for some calls.
    struct Spot {
        Subject subject;
        int octave = 0;
        std::vector<Configuration> arms;
        Lesson lesson;
        CallKey example;  ///< calls like that are timed and tried
        Sort sort = {};   ///< that is, of its sort
        int others_in_a_row = 0;
        Turn turn = {};
        std::int64_t calls_done = 0, next_timed = 0;
        TurnTimes times = {};  ///< on this rank
        std::array<double, samples_of_turn> samples = {};
        std::size_t sampled = 0;
    };

    /// Null if nothing is known of such calls yet: then begin() with what does them now.
    Spot* find(const CallKey& key);
    Spot& begin(const CallKey& key, const Configuration& incumbent);

    /// What does this call. It may not be able to: cannot(), and ask again.
    int arm_for(Spot& spot, const CallKey& key);
    void cannot(Spot& spot, int arm, double lost_ns);

    /// Whether a call is one among the incumbent's turn whose time is not wanted, neither its last:
    /// then it is counted, and need only be done as such calls were before. Most calls are, and
    /// small ones take less than looking at the clock.
    bool passes(Spot& spot, int arm, Sort sort) {
        const bool is_one = arm == spot.turn.arm && arm == spot.lesson.incumbent() &&
                            sort == spot.sort && !is_timed(spot) &&
                            spot.calls_done + 1 < spot.turn.calls;
        if (!is_one) return false;
        spot.others_in_a_row = 0;
        ++spot.calls_done;
        return true;
    }

    /// How long a call took this rank, and the plans for it. Ranks meet where a turn ends.
    void took(Spot& spot, Sort sort, double call_ns, double making_ns);

    std::vector<Section> learnt(const JobShape& setting) const;

private:
    using Kind = std::pair<Subject, int>;
    // Evenly from among the calls of a turn.
    static bool is_timed(const Spot& spot) {
        return spot.calls_done == spot.next_timed && spot.sampled < spot.samples.size();
    }
    Kind kind_of(const CallKey& key) const;
    void take_turn(Spot& spot);
    void meet(Spot& spot);

    World& world_;
    Learning learning_;
    Account account_;
    std::map<Kind, Spot> spots_;
    double lost_ns_ = 0;        // by this rank since then, with arms that could not be had
    double spent_ns_ = 0;       // by this rank since the last meeting
    double my_meeting_ns_ = 0;  // of the last meeting, as this rank saw it
    double meeting_ns_ = 0;     // the same as all have agreed on
};

}  // namespace tutti
