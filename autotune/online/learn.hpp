// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "autotune/table/table.hpp"

namespace tutti {

/// Time spent in collectives, and lost in them by trying what turned out slower. Nothing may be
/// tried that could make the losses more than a share of the time spent.
class Account {
public:
    explicit Account(double bound) : bound_(bound) {}

    void spend(double ns) { spent_ns_ += ns; }
    void lose(double ns) { lost_ns_ += ns; }

    double spent_ns() const { return spent_ns_; }
    double lost_ns() const { return lost_ns_; }
    /// What may be lost now. A part of the bound is kept back for times that are worse than feared.
    double left_ns() const { return usable_share() * spent_ns_ - lost_ns_; }
    /// Gained for each ns that is spent.
    double usable_share() const { return 0.8 * bound_; }

private:
    double bound_;
    double spent_ns_ = 0, lost_ns_ = 0;
};

/// So many calls by one arm; then the ranks tell each other how long they took.
struct Turn {
    int arm = 0;
    std::int64_t calls = 0;
    bool operator==(const Turn&) const = default;
};

/// Times of a turn, of the slowest rank, in ns.
struct TurnTimes {
    std::span<const double> samples;  ///< of single calls, evenly from among them
    double calls = 0;                 ///< all of the turn together
    double making = 0;                ///< of plans that it needed
    double longest_making = 0;        ///< of one of them
    double meeting = 0;               ///< to tell each other the last turn's times
};

/// Finds the best of some arms for calls of one kind while they are made: between turns of the
/// incumbent the others have turns, short ones at first, each only if the account affords the worst
/// that may come of it. Who is clearly slower is dropped, early if by much; who is faster beyond
/// doubt becomes the incumbent. When the incumbent's own time changes the machine has changed, and
/// all begins anew. Knows no clock and no ranks: whoever is told the same decides the same.
class Lesson {
public:
    struct Start {
        int arms = 1;
        int incumbent = 0;
        double meeting_ns = 0;     ///< a guess
        double least_call_ns = 1;  ///< what a call takes at least, a guess
    };
    explicit Lesson(const Start& start);

    /// What to do next.
    Turn next(const Account& account);
    /// How that went. What it lost is put down; time is spent elsewhere.
    void took(const Turn& turn, const TurnTimes& times, Account& account);
    /// The arm cannot do these calls; the next turn is the incumbent's.
    void cannot(int arm);
    /// From now on calls are of another length: plans have to be made for them.
    void plans_are_gone();

    int incumbent() const { return incumbent_; }
    /// Nobody is left to be tried.
    bool is_settled() const;
    /// Of the median, as far as known: none below six samples.
    std::optional<TimeInterval> time_of(int arm) const;
    /// The best of the others that have been timed.
    std::optional<int> runner_up() const;

private:
    static constexpr std::size_t kept_samples = 128;

    struct Arm {
        bool can = true, is_in = true, has_plans = false;
        std::int64_t calls = 0;
        std::array<double, kept_samples> samples{};
        std::size_t seen = 0;  // the last of them are kept
        double fastest = 0, slowest = 0;

        void add(std::span<const double> times);
        void forget();
        std::size_t kept() const { return std::min(seen, kept_samples); }
    };

    Arm& arm(int number) { return arms_[static_cast<std::size_t>(number)]; }
    const Arm& arm(int number) const { return arms_[static_cast<std::size_t>(number)]; }
    std::optional<int> next_challenger() const;
    std::int64_t calls_of_turn(const Arm& challenger) const;
    double at_risk_ns(const Arm& challenger) const;
    Turn turn_of_incumbent(double missing_ns, const Account& account) const;
    void evaluate(int challenger);
    void watch(std::span<const double> samples);
    void begin_anew(std::span<const double> of_incumbent);

    std::vector<Arm> arms_;
    int incumbent_;
    int last_tried_ = -1;
    bool incumbent_is_due_ = true;
    int turns_off_ = 0;   // of the incumbent in a row with another time than before
    double mean_ns_ = 0;  // of the incumbent's calls, lately
    double meeting_ns_, least_call_ns_;
    double making_ns_ = 0;  // the longest so far
};

}  // namespace tutti
