// SPDX-License-Identifier: Apache-2.0
#include "results/comparison/judgement.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace tutti {
namespace {

double noise_of(const ComparedMetric& metric, const Rule& rule) {
    return std::max(std::abs(shift_of(metric.noise_of_a, rule.confidence).estimate),
                    std::abs(shift_of(metric.noise_of_b, rule.confidence).estimate));
}

std::string in_percent(double logarithm) {
    return fmt::format("{:.1f} %", 100 * std::expm1(logarithm));
}

double visible_of(const Judgement& judgement, const Rule& rule) {
    const double half_interval = (judgement.shift.high - judgement.shift.low) / 2;
    return std::expm1(std::max({std::log1p(rule.min_effect), judgement.noise, half_interval}));
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
        judgement.reason = "no launch has it";
    } else if (std::isinf(shift.low)) {
        judgement.reason = fmt::format("{} launches are too few for a {:.0f} % interval", shift.n,
                                       100 * rule.confidence);
    } else if (is_within(shift) && (size <= effect / 2 || is_within(judgement.sure))) {
        judgement.change = Change::same;
        judgement.reason = interval + ", within the minimum effect";
    } else if (is_within(shift)) {
        judgement.reason = interval + ", within the minimum effect, but one of " +
                           fmt::format("{:.1f} % is not", 100 * surely);
    } else if (!excludes_none) {
        judgement.reason = interval + " and includes no change";
    } else if (judgement.adjusted_p > 1 - rule.confidence) {
        judgement.reason = fmt::format("p = {:.4f} after adjusting for the number of metrics",
                                       judgement.adjusted_p);
    } else if (size <= effect) {
        judgement.reason =
            fmt::format("{} does not exceed the minimum effect", in_percent(shift.estimate));
    } else if (size <= judgement.noise) {
        judgement.reason = fmt::format("the same program differs from itself by {} here",
                                       in_percent(judgement.noise));
    } else {
        judgement.change = shift.estimate > 0 ? Change::slower : Change::faster;
        judgement.reason = interval + ", beyond the minimum effect and its own noise";
    }
}

}  // namespace

std::vector<Judgement> judge(std::span<const ComparedMetric> metrics, const Rule& rule) {
    std::vector<Judgement> judgements;
    for (const ComparedMetric& metric : metrics)
        judgements.push_back({.shift = shift_of(metric.changes, rule.confidence),
                              .sure = shift_of(metric.changes, std::max(surely, rule.confidence)),
                              .noise = noise_of(metric, rule)});
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

std::optional<ComparedMetric> geometric_mean(std::span<const ComparedMetric> metrics) {
    ComparedMetric mean{.name = "geometric mean"};
    std::size_t launches = 0;
    for (const ComparedMetric& metric : metrics)
        launches = std::max(launches, metric.changes.size());
    double count = 0;
    const auto add = [&](std::vector<double>& sums, const std::vector<double>& values) {
        sums.resize(launches);
        for (std::size_t i = 0; i < values.size(); ++i) sums[i] += values[i];
    };
    for (const ComparedMetric& metric : metrics) {
        if (metric.changes.size() != launches || launches == 0) continue;
        ++count;
        add(mean.changes, metric.changes);
        add(mean.noise_of_a, metric.noise_of_a);
        add(mean.noise_of_b, metric.noise_of_b);
    }
    if (count < 2) return std::nullopt;
    for (auto* sums : {&mean.changes, &mean.noise_of_a, &mean.noise_of_b})
        for (double& sum : *sums) sum /= count;
    return mean;
}

Judgement of_mean_of_same(std::span<const Judgement> metrics, const Judgement& mean,
                          const Rule& rule) {
    Judgement judgement = mean;
    judgement.change = Change::same;
    judgement.reason = "all metrics are the same, and so is their mean";
    const auto average = [&](Shift Judgement::*shift, double Shift::*value) {
        double sum = 0;
        for (const Judgement& metric : metrics) sum += metric.*shift.*value;
        return sum / static_cast<double>(metrics.size());
    };
    for (auto shift : {&Judgement::shift, &Judgement::sure})
        for (auto value : {&Shift::estimate, &Shift::low, &Shift::high})
            judgement.*shift.*value = average(shift, value);
    judgement.visible = visible_of(judgement, rule);
    return judgement;
}

int least_launches(const Rule& rule, std::size_t metrics) {
    int least = 1;  // all of one sign: p = 2 / 2^n, adjusted for the metrics
    while (std::pow(0.5, least) * 2 * static_cast<double>(std::max<std::size_t>(metrics, 1)) >
           1 - rule.confidence)
        ++least;
    return least;
}

namespace {

// Returns the half width of the signed-rank interval of the changes, which is sqrt(pi / 3) times
// as wide as that of a normal mean.
double variance_of(const std::vector<double>& changes) {
    const auto n = static_cast<double>(changes.size());
    double sum = 0, squares = 0;
    for (const double change : changes) sum += change;
    for (const double change : changes) squares += std::pow(change - sum / n, 2);
    return squares / (n - 1) * 3.14159265358979 / 3;
}

double z_of(const Rule& rule) {
    return rule.confidence >= 0.98 ? 2.33 : rule.confidence >= 0.95 ? 1.96 : 1.64;
}

// Few launches know their own spread badly, for which z^2 / 2 more make up.
int with_few_more(double launches, const Rule& rule) {
    const double more = std::pow(z_of(rule), 2) / 2;
    return std::max(least_launches(rule),
                    static_cast<int>(std::ceil(std::min(launches + more, 1e6))));
}

}  // namespace

std::optional<int> launches_for(const ComparedMetric& metric, double wished, const Rule& rule) {
    if (metric.changes.size() < 3 || wished <= rule.min_effect) return std::nullopt;
    constexpr double nine_of_ten = 1.28;
    const double goal = std::log1p(wished);
    // Its interval excludes 0 and the estimate is beyond the minimum effect.
    return with_few_more(std::max(std::pow((z_of(rule) + nine_of_ten) / goal, 2),
                                  std::pow(nine_of_ten / (goal - std::log1p(rule.min_effect)), 2)) *
                             variance_of(metric.changes),
                         rule);
}

}  // namespace tutti
