// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/name_table.hpp"
#include "results/statistics/signed_rank.hpp"

namespace tutti {

/// The verdict on a metric, B against A. Undecided: neither a change nor its absence is shown.
enum class Change { slower, faster, same, undecided };
template <>
struct NamesOf<Change> {
    static constexpr const char* kind = "change";
    static constexpr Named<Change> rows[] = {{Change::slower, "slower"},
                                             {Change::faster, "faster"},
                                             {Change::same, "same"},
                                             {Change::undecided, "undecided"}};
};

/// One metric, as several launches saw it; numbers are natural logarithms of ratios.
struct ComparedMetric {
    std::string name;
    std::vector<double> changes;  ///< ln(B / A), one of each launch
    /// Noise: how far repetitions differ, ln(A / A) and ln(B / B), one value per launch.
    std::vector<double> noise_of_a, noise_of_b;
    bool higher_is_better = false;  ///< true for rates, false for times

    bool operator==(const ComparedMetric&) const = default;
};

struct Rule {
    double confidence = 0.98;   ///< of intervals
    double min_effect = 0.025;  ///< a change must be larger to be one
    double alarm = 0.02;  ///< accepted chance that any metric is wrongly slower or faster, if share
                          ///< is 1
    /// The part of all accepted errors that one look at the data may spend. The shares of all looks
    /// of a comparison add up to at most 1, so that repeated looks do not raise the chance of an
    /// error (group sequential test with a spending function: Lan and DeMets 1983).
    double share = 1;

    double level() const { return alarm * share; }  ///< the largest adjusted p of slower or faster
};

/// The confidence of a wider interval that checks small changes again.
inline constexpr double surely = 0.998;

/// Returns the rule of look number `look` (from 1) at launches that go on until something is
/// decided. Look k spends 1 / (k (k + 1)) of the errors; the last one spends the rest, 1 / k.
/// Slower and faster must be sure.
Rule rule_of_look(Rule rule, int look, bool is_last);

struct Judgement {
    Change change = Change::undecided;
    Shift shift;            ///< of ln(B / A), with the interval of the rule's confidence
    Shift tested = {};      ///< the same with the interval of this look, see Rule::share
    Shift sure = {};        ///< the same with a wider interval, see `surely`
    double noise = 0;       ///< the same estimate, |ln|, of A against A or of B against B
    double adjusted_p = 1;  ///< by Holm, over all metrics of the comparison
    double visible =
        0;  ///< so large a change (0.05: 5 %) is seen nine times of ten; may be infinite
    bool higher_is_better = false;  ///< true for a rate: slower is a smaller number
    std::string reason;             ///< the rule that decided, in words
};

/// The verdicts on all metrics of a comparison. Slower (faster) is what has an estimate beyond the
/// minimum effect and beyond its own noise, and an interval and a p-value, adjusted for the number
/// of metrics, that exclude 0. The same is what has an interval within plus and minus the minimum
/// effect; where the estimate is beyond half of that, the wider interval must lie within. Both of
/// these intervals are wider if the rule has a smaller share. In the order of the metrics.
std::vector<Judgement> judge(std::span<const ComparedMetric> metrics, const Rule& rule);

/// The verdicts by the same rule, of judgements that have their three shifts and their noise.
void settle(std::span<Judgement> judgements, const Rule& rule);

/// Metrics that were measured in the same launches.
struct MeasuredTogether {
    std::vector<int> launches;            ///< their numbers, sorted; the order of all values
    std::vector<ComparedMetric> metrics;  ///< at least one
};

/// The verdict on the geometric mean of all metrics, which counts all launches of each of them.
/// Metrics of one group are averaged in each launch; rates count as times, by their inverse, unless
/// all metrics are rates. The distances from the estimates of the groups
/// to the ends of their intervals add in squares, as far as their launches differ; metrics of the
/// same launch may change together. The p-value is then that of a normal distribution with this
/// interval. Nothing if fewer than two metrics were measured.
std::optional<Judgement> judge_mean(std::span<const MeasuredTogether> groups, const Rule& rule);

/// The verdict on the geometric mean of metrics that are all the same: so is the mean. Its estimate
/// and interval are the means of theirs, as it lies between these ends wherever each of them lies
/// between its own; the noise is that of `mean`, as judged by itself.
Judgement of_mean_of_same(std::span<const Judgement> metrics, const Judgement& mean, const Rule&);

/// The fewest launches by which one of N metrics can be slower or faster.
int least_launches(const Rule& rule, std::size_t metrics = 1);

/// Returns whether the interval is so narrow that more launches would not change the verdict.
bool is_as_narrow_as_needed(const Judgement& judgement, const Rule& rule);

/// Returns the factor by which the number of launches must grow until the verdict is no longer
/// undecided, if the estimate stays as it is. None if no number of launches would decide: the
/// change is as large as the minimum effect, or there is no interval.
std::optional<double> more_launches(const Judgement& judgement, const Rule& rule);

/// Returns the number of launches that find a change of `wished` (0.05: 5 %) nine times of ten,
/// given the spread of these launches. None for fewer than three launches, or if `wished` does not
/// exceed the minimum effect, because half of such changes look smaller.
std::optional<int> launches_for(const ComparedMetric& metric, double wished, const Rule& rule);

/// Returns the smallest change (0.01: 1 %) that this number of launches shows nine times of ten if
/// the minimum effect is half of it, by the spread of those that are here. Nothing if fewer than
/// three are here, or if the number cannot show any change.
std::optional<double> smallest_change(const ComparedMetric& metric, int launches, const Rule& rule);

}  // namespace tutti
