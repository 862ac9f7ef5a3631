// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "autotune/table/table.hpp"
#include "base/index.hpp"

namespace tutti {

/// Time spent in collectives, and time lost by trying slower arms: the regret, which may be at most
/// a share of the time spent.
class RegretBudget {
public:
    /// `all`: of all searches together, if this one is of some calls.
    explicit RegretBudget(double bound, RegretBudget* all = nullptr) : bound_(bound), all_(all) {}

    void spend(double ns) {
        spent_ns_ += ns;
        if (all_ != nullptr) all_->spend(ns);
    }
    void lose(double ns) {
        lost_ns_ += ns;
        if (all_ != nullptr) all_->lose(ns);
    }

    double spent_ns() const { return spent_ns_; }
    double lost_ns() const { return lost_ns_; }
    /// Returns the budget in ns that all searches may still lose. A fifth of the bound is a reserve
    /// for times above the estimate.
    double left_ns() const { return all_ == nullptr ? own_left_ns() : all_->left_ns(); }
    /// The same of these calls alone: what a search costs even if all arms are equal must be earned
    /// by its own calls, or short calls would pay for what only long ones gain.
    double own_left_ns() const { return usable_share() * spent_ns_ - lost_ns_; }
    /// Returns the share of the time spent that may be lost.
    double usable_share() const { return 0.8 * bound_; }

private:
    double bound_;
    RegretBudget* all_;
    double spent_ns_ = 0, lost_ns_ = 0;
};

/// A number of calls by one arm, after which the ranks exchange their times.
struct Round {
    int arm = 0;
    std::int64_t calls = 0;
    bool operator==(const Round&) const = default;
};

/// Times of a round, in ns. Those of calls are means over the ranks: what the program loses.
struct RoundTimes {
    std::span<const double> samples;  ///< a call's mean time in blocks spread evenly over the round
    double calls = 0;                 ///< all of the round together
    double making = 0;                ///< time to make the plans that the round needed
    double longest_making = 0;        ///< time of the longest of these
    double exchange = 0;              ///< time to exchange the last round's times among the ranks
};

/// A bandit search for the best arm for calls of one kind, while the program makes them. Rounds of
/// the incumbent alternate with rounds of other arms, which are short at first and begin only if
/// the regret budget covers their worst case. An arm that is clearly slower is dropped, the sooner
/// the slower it is; one whose 95 % interval is below the incumbent's replaces it. When the
/// incumbent's own time changes, the search starts over. Short calls are judged by blocks: where
/// one rank runs ahead of others, most calls take no time, and one in many waits. Deterministic:
/// equal times lead to equal decisions.
class OnlineSearch {
public:
    struct Start {
        int arms = 1;
        int incumbent = 0;
        double exchange_ns = 0;    ///< a guess
        double least_call_ns = 1;  ///< lower guess of the time of a call
    };
    explicit OnlineSearch(const Start& start);

    /// A round of the incumbent with fewer samples does not show whether the machine has changed.
    static constexpr std::int64_t fewest_watched = 4;

    /// Returns the number of consecutive calls of a sample: a try of fewer calls has none.
    std::int64_t calls_of_sample() const { return calls_of_sample_; }

    /// Returns the next round.
    Round next(const RegretBudget& budget);
    /// Takes the times of a round, and charges the budget with its loss.
    void record(const Round& round, const RoundTimes& times, RegretBudget& budget);
    /// Reports that the arm cannot do these calls; the next round is the incumbent's.
    void exclude(int arm);
    /// Reports that calls have another length from now on, for which plans must be made.
    void plans_are_gone();

    int incumbent() const { return incumbent_; }
    /// Returns whether the arm is the incumbent, or may still replace it. One that record() has
    /// dropped may come back later; its plans are made again then.
    bool is_candidate(int number) const { return number == incumbent_ || arm(number).is_in; }
    /// Returns whether all arms have been tried.
    bool is_settled() const;
    /// Returns the recent mean time of the incumbent's calls; 0 if unknown.
    double mean_ns() const { return mean_ns_; }
    /// Returns the median with its 95 % interval; none below six samples.
    std::optional<TimeInterval> time_of(int arm) const;
    /// Returns the best of the other timed arms.
    std::optional<int> runner_up() const;

private:
    static constexpr std::size_t most_samples = 128;

    struct Arm {
        bool can = true, is_in = true, has_plans = false;
        std::int64_t calls = 0;
        std::array<double, most_samples> samples{};
        std::size_t seen = 0;             // number of samples; only the last are stored
        double fastest = 0, slowest = 0;  // mean of a call in a sample or a shorter try; 0: none

        void add(std::span<const double> times);
        void saw(double mean_ns);
        void forget();
        void drop() { is_in = has_plans = false; }
        std::size_t count() const { return std::min(seen, most_samples); }
    };

    Arm& arm(int number) { return at(arms_, number); }
    const Arm& arm(int number) const { return at(arms_, number); }
    std::optional<int> next_challenger() const;
    std::int64_t calls_of_round(const Arm& challenger) const;
    double at_risk_ns(const Arm& challenger) const;
    double overhead_ns(const Arm& challenger) const;
    Round round_of_incumbent(double missing_ns, const RegretBudget& budget) const;
    void evaluate(int challenger);
    void watch(std::span<const double> samples);
    void begin_anew(std::span<const double> of_incumbent);

    std::vector<Arm> arms_;
    int incumbent_;
    int last_tried_ = 0;
    bool incumbent_is_due_ = true;
    std::int64_t calls_of_sample_;
    int rounds_off_ = 0;  // consecutive rounds of the incumbent whose time differed from before
    double mean_ns_ = 0;  // recent mean of the incumbent's calls
    double exchange_ns_, least_call_ns_;
    double making_ns_ = 0;  // the longest so far
};

}  // namespace tutti
