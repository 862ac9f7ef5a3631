// SPDX-License-Identifier: Apache-2.0
#include "results/comparison/judgement.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <limits>
#include <utility>

namespace tutti {
namespace {

double noise_of(const ComparedMetric& metric) {
    double noise = 0;
    for (const auto* repetitions : {&metric.noise_of_a, &metric.noise_of_b})
        if (!repetitions->empty()) noise = std::max(noise, std::abs(centre_of(*repetitions)));
    return noise;
}

using ShiftOfJudgement = Shift Judgement::*;

// Returns the shifts of a judgement, each with the confidence of its interval.
std::array<std::pair<ShiftOfJudgement, double>, 3> shifts_of(const Rule& rule) {
    const double sure = std::max(surely, rule.confidence);
    return {{{&Judgement::shift, rule.confidence},
             {&Judgement::tested, 1 - (1 - rule.confidence) * rule.share},
             {&Judgement::sure, 1 - (1 - sure) * rule.share}}};
}

std::string in_percent(double logarithm) {
    return fmt::format("{:.1f} %", 100 * std::expm1(logarithm));
}

constexpr double nine_of_ten = 1.28;  // quantile of the normal distribution

double deviation_of(const Judgement& judgement, const Rule& rule) {
    return (judgement.shift.high - judgement.shift.low) / 2 / two_sided_z(1 - rule.confidence);
}

double visible_of(const Judgement& judgement, const Rule& rule) {
    const double deviation = deviation_of(judgement, rule);
    return std::expm1(
        std::max({std::log1p(rule.min_effect) + nine_of_ten * deviation, judgement.noise,
                  (two_sided_z(rule.level()) + nine_of_ten) * deviation}));
}

// The verdict of one metric, whose p-value is adjusted.
void decide(Judgement& judgement, const Rule& rule) {
    const Shift& shift = judgement.shift;
    const double effect = std::log1p(rule.min_effect);
    const double size = std::abs(shift.estimate);
    const auto is_within = [&](const Shift& one) { return one.low > -effect && one.high < effect; };
    const bool excludes_none = shift.low > 0 || shift.high < 0;
    const std::string interval =
        fmt::format("the {:.0f} % interval is {} to {}", 100 * rule.confidence,
                    in_percent(shift.low), in_percent(shift.high));
    if (shift.n == 0) {
        judgement.reason = "no launch measured it";
    } else if (std::isinf(shift.low)) {
        judgement.reason = fmt::format("{} launches are too few for a {:.0f} % interval", shift.n,
                                       100 * rule.confidence);
    } else if (is_within(judgement.tested) && (size <= effect / 2 || is_within(judgement.sure))) {
        judgement.change = Change::same;
        judgement.reason = interval + ", within the minimum effect";
    } else if (is_within(shift)) {
        const double needed = is_within(judgement.tested) ? surely : rule.confidence;
        judgement.reason = fmt::format("{}, within the minimum effect, but one of {:.3g} % is not",
                                       interval, 100 * (1 - (1 - needed) * rule.share));
    } else if (!excludes_none) {
        judgement.reason = interval + " and includes no change";
    } else if (judgement.adjusted_p > rule.level()) {
        judgement.reason =
            fmt::format("p = {:.4f} after adjusting for the number of metrics; {:.2g} is needed",
                        judgement.adjusted_p, rule.level());
    } else if (size <= effect) {
        judgement.reason =
            fmt::format("{} does not exceed the minimum effect", in_percent(shift.estimate));
    } else if (size <= judgement.noise) {
        judgement.reason = fmt::format("the same program differs from itself by {} here",
                                       in_percent(judgement.noise));
    } else {
        const bool is_higher = shift.estimate > 0;
        judgement.change =
            is_higher == judgement.higher_is_better ? Change::faster : Change::slower;
        judgement.reason = interval + ", beyond the minimum effect and its own noise";
    }
}

}  // namespace

Rule rule_of_look(Rule rule, int look, bool is_last) {
    rule.alarm = std::min(rule.alarm, 1 - surely);
    rule.share = is_last ? 1. / look : 1. / (look * (look + 1));
    return rule;
}

std::vector<Judgement> judge(std::span<const ComparedMetric> metrics, const Rule& rule) {
    std::vector<Judgement> judgements;
    for (const ComparedMetric& metric : metrics) {
        Judgement& judgement = judgements.emplace_back();
        for (const auto& [shift, confidence] : shifts_of(rule))
            judgement.*shift = shift_of(metric.changes, confidence);
        judgement.noise = noise_of(metric);
        judgement.higher_is_better = metric.higher_is_better;
    }
    settle(judgements, rule);
    return judgements;
}

void settle(std::span<Judgement> judgements, const Rule& rule) {
    std::vector<double> p_values;
    for (const Judgement& judgement : judgements) p_values.push_back(judgement.shift.p);
    const std::vector<double> adjusted = adjusted_by_holm(p_values);
    for (std::size_t i = 0; i < judgements.size(); ++i) {
        Judgement& judgement = judgements[i];
        judgement.adjusted_p = adjusted[i];
        judgement.visible = visible_of(judgement, rule);
        decide(judgement, rule);
    }
}

namespace {

// The values that the mean takes, and its direction.
struct ValuesOfMean {
    std::vector<double> ComparedMetric::*values;
    bool higher_is_better;
};

// Returns the mean of the metrics in each launch. Metrics of the other direction count inversely.
std::vector<double> mean_values(const MeasuredTogether& group, const ValuesOfMean& of) {
    std::vector<double> means((group.metrics.front().*of.values).size());
    for (const ComparedMetric& metric : group.metrics) {
        const double weight = (metric.higher_is_better == of.higher_is_better ? 1 : -1) /
                              static_cast<double>(group.metrics.size());
        for (std::size_t launch = 0; launch < means.size(); ++launch)
            means[launch] += weight * (metric.*of.values)[launch];
    }
    return means;
}

// Returns how far two estimates are related if a launch changes all of its metrics alike.
double largest_correlation(const std::vector<int>& one, const std::vector<int>& other) {
    std::vector<int> common;
    std::ranges::set_intersection(one, other, std::back_inserter(common));
    return static_cast<double>(common.size()) /
           std::sqrt(static_cast<double>(one.size()) * static_cast<double>(other.size()));
}

// One group's part of the mean: its estimate and the distances to the ends of its interval.
struct PartOfMean {
    const std::vector<int>* launches;
    double estimate, below, above;
};

double reach_of(std::span<const PartOfMean> parts, double PartOfMean::*side) {
    double squares = 0;
    for (const PartOfMean& one : parts)
        for (const PartOfMean& other : parts)
            squares +=
                one.*side * (other.*side) * largest_correlation(*one.launches, *other.launches);
    return std::sqrt(squares);
}

Shift mean_shift(std::span<const MeasuredTogether> groups, const ValuesOfMean& values,
                 double confidence) {
    if (groups.size() == 1) return shift_of(mean_values(groups.front(), values), confidence);
    double metrics = 0;
    for (const MeasuredTogether& group : groups)
        metrics += static_cast<double>(group.metrics.size());
    Shift mean{.low = -std::numeric_limits<double>::infinity(),
               .high = std::numeric_limits<double>::infinity(),
               .p = 1};
    std::vector<PartOfMean> parts;
    bool is_bounded = true;
    for (const MeasuredTogether& group : groups) {
        const Shift shift = shift_of(mean_values(group, values), confidence);
        const double weight = static_cast<double>(group.metrics.size()) / metrics;
        parts.push_back({&group.launches, weight * shift.estimate,
                         weight * (shift.estimate - shift.low),
                         weight * (shift.high - shift.estimate)});
        mean.estimate += parts.back().estimate;
        mean.n = std::max(mean.n, shift.n);
        is_bounded = is_bounded && std::isfinite(shift.high);
    }
    if (!is_bounded) return mean;
    mean.low = mean.estimate - reach_of(parts, &PartOfMean::below);
    mean.high = mean.estimate + reach_of(parts, &PartOfMean::above);
    const double reach = mean.estimate > 0 ? mean.estimate - mean.low : mean.high - mean.estimate;
    const double deviations = std::abs(mean.estimate) / std::max(reach, 1e-300);
    mean.p = std::erfc(deviations * two_sided_z(1 - confidence) / std::sqrt(2));
    return mean;
}

}  // namespace

std::optional<Judgement> judge_mean(std::span<const MeasuredTogether> groups, const Rule& rule) {
    std::vector<MeasuredTogether> measured;
    std::size_t metrics = 0;
    for (const MeasuredTogether& group : groups) {
        if (group.launches.empty()) continue;
        measured.push_back(group);
        metrics += group.metrics.size();
    }
    if (metrics < 2) return std::nullopt;
    Judgement mean;
    mean.higher_is_better = std::ranges::all_of(measured, [](const MeasuredTogether& group) {
        return std::ranges::all_of(group.metrics, &ComparedMetric::higher_is_better);
    });
    const auto shift_with = [&](std::vector<double> ComparedMetric::*values, double confidence) {
        return mean_shift(measured, {values, mean.higher_is_better}, confidence);
    };
    for (const auto& [shift, confidence] : shifts_of(rule))
        mean.*shift = shift_with(&ComparedMetric::changes, confidence);
    for (const auto values : {&ComparedMetric::noise_of_a, &ComparedMetric::noise_of_b})
        mean.noise = std::max(mean.noise, std::abs(shift_with(values, rule.confidence).estimate));
    settle({&mean, 1}, rule);
    return mean;
}

Judgement of_mean_of_same(std::span<const Judgement> metrics, const Judgement& mean,
                          const Rule& rule) {
    Judgement judgement = mean;
    judgement.change = Change::same;
    judgement.reason = "all metrics are the same, and so is their mean";
    const double weight = 1. / static_cast<double>(metrics.size());
    for (auto shift : {&Judgement::shift, &Judgement::tested, &Judgement::sure}) {
        Shift& average = judgement.*shift;
        average.estimate = average.low = average.high = 0;
        for (const Judgement& metric : metrics) {
            const Shift& one = metric.*shift;
            const bool is_inverse = metric.higher_is_better != mean.higher_is_better;
            average.estimate += weight * (is_inverse ? -one.estimate : one.estimate);
            average.low += weight * (is_inverse ? -one.high : one.low);
            average.high += weight * (is_inverse ? -one.low : one.high);
        }
    }
    judgement.visible = visible_of(judgement, rule);
    return judgement;
}

int least_launches(const Rule& rule, std::size_t metrics) {
    int least = 1;  // all of one sign: p = 2 / 2^n, adjusted for the metrics
    while (std::pow(0.5, least) * 2 * static_cast<double>(std::max<std::size_t>(metrics, 1)) >
           rule.level())
        ++least;
    return least;
}

bool is_as_narrow_as_needed(const Judgement& judgement, const Rule& rule) {
    return judgement.sure.high - judgement.sure.low < std::log1p(rule.min_effect) / 10;
}

std::optional<double> more_launches(const Judgement& judgement, const Rule& rule) {
    const Shift& shift = judgement.shift;
    if (shift.n == 0 || std::isinf(shift.low)) return std::nullopt;
    const double size = std::abs(shift.estimate), effect = std::log1p(rule.min_effect);
    // The deviation of the estimate by which nine of ten such comparisons decide: the interval and
    // the estimate are beyond the minimum effect, or the interval lies within it.
    const double sure = two_sided_z(1 - surely) + nine_of_ten;
    const double needed = size > effect ? std::min(size / sure, (size - effect) / nine_of_ten)
                                        : (effect - size) / sure;
    constexpr double most = 1000;
    const double factor = std::pow(deviation_of(judgement, rule) / needed, 2);
    return factor < most ? std::optional(std::max(factor, 1.)) : std::nullopt;
}

namespace {

// Returns the variance of a launch, enlarged as the signed-rank interval is sqrt(pi / 3) times as
// wide as that of a normal mean.
double variance_of(const std::vector<double>& changes) {
    const auto n = static_cast<double>(changes.size());
    double sum = 0, squares = 0;
    for (const double change : changes) sum += change;
    for (const double change : changes) squares += std::pow(change - sum / n, 2);
    return squares / (n - 1) * 3.14159265358979 / 3;
}

// Few launches know their own spread badly, for which z^2 / 2 more make up.
double more_for_the_spread(const Rule& rule) { return std::pow(two_sided_z(rule.level()), 2) / 2; }

}  // namespace

std::optional<int> launches_for(const ComparedMetric& metric, double wished, const Rule& rule) {
    if (metric.changes.size() < 3 || wished <= rule.min_effect) return std::nullopt;
    const double goal = std::log1p(wished);
    // Its interval excludes 0 and the estimate is beyond the minimum effect.
    const double launches =
        std::max(std::pow((two_sided_z(rule.level()) + nine_of_ten) / goal, 2),
                 std::pow(nine_of_ten / (goal - std::log1p(rule.min_effect)), 2)) *
        variance_of(metric.changes);
    return std::max(
        least_launches(rule),
        static_cast<int>(std::ceil(std::min(launches + more_for_the_spread(rule), 1e6))));
}

std::optional<double> smallest_change(const ComparedMetric& metric, int launches,
                                      const Rule& rule) {
    if (metric.changes.size() < 3 || launches < least_launches(rule)) return std::nullopt;
    const double useful = std::max(launches - more_for_the_spread(rule), 1.);
    return std::expm1((two_sided_z(rule.level()) + nine_of_ten) *
                      std::sqrt(variance_of(metric.changes) / useful));
}

}  // namespace tutti
