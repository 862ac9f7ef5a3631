// SPDX-License-Identifier: Apache-2.0
#include "results/comparison/staged_comparison.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <ranges>
#include <set>

#include "base/clock.hpp"
#include "base/index.hpp"
#include "results/statistics/statistics.hpp"

namespace tutti {
namespace {

constexpr int launches_timed = 2;  // measured before the number of launches is set

double median_of(const std::vector<LaunchOfMetric>& launches, double LaunchOfMetric::*value) {
    std::vector<double> values;
    for (const LaunchOfMetric& launch : launches) values.push_back(launch.*value);
    return values.empty() ? 0 : median(values);
}

class Comparison {
public:
    Comparison(const LaunchBoth& launch, const ComparisonPlan& plan, const ComparisonEvents& events)
        : launch_(launch), plan_(plan), events_(events) {}

    ComparisonResult run() {
        run_stage(1, {}, plan_.first_launches);
        judge_all();
        std::vector<MetricResult> first = result_.metrics;
        std::set<std::string> suspects;
        for (const MetricResult& result : result_.metrics)
            if (result.judgement.change != Change::same) suspects.insert(result.metric.name);
        const int least = least_launches(plan_.rule, suspects.size());
        int needed = std::max(plan_.second_launches, least + 2);
        for (const MetricResult& result : result_.metrics) {
            if (!suspects.contains(result.metric.name)) continue;
            needed = std::max(needed, launches_wanted(result));
            if (effect_of(result) <= 2 * plan_.rule.min_effect)
                to_be_narrow_.insert(result.metric.name);
        }
        // A second stage with too few launches would only discard the verdicts of the first.
        const bool pays = plan_.most_launches >= least && launches_left() >= least;
        if (!suspects.empty() && result_.wrong.empty() && !result_.ran_out) {
            if (pays) run_stage(2, suspects, std::min(needed, plan_.most_launches));
            if (stage_launches_ < least) result_.metrics = first;  // the stage was cut short
            result_.ran_out = result_.ran_out || (!pays && plan_.most_launches > 0);
            drop_from(result_.metrics);
            judge_all();
        }
        drop_from(first);
        add_mean(first);
        settle_mean();
        // Drops reasons of metrics that other launches could measure.
        for (const MetricResult& result : result_.metrics)
            result_.missing.erase(result.metric.name);
        result_.missing.insert(dropped_.begin(), dropped_.end());
        if (result_.ran_out && result_.launches == 0)
            result_.missing["all metrics"] =
                "the budget ended during the first launch; use a larger --budget";
        result_.seconds = seconds_since(began_ns_);
        return std::move(result_);
    }

private:
    // Returns the launches needed to detect twice the minimum effect, or half of the effect seen in
    // the first stage if that is larger.
    int launches_wanted(const MetricResult& result) const {
        const double wished = std::max(2 * plan_.rule.min_effect, effect_of(result) / 2);
        return launches_for(result.metric, wished, plan_.rule).value_or(0);
    }

    static double effect_of(const MetricResult& result) {
        return std::expm1(std::abs(result.judgement.shift.estimate));
    }

    // If the first stage saw little, the second has to show that there is no relevant change, so it
    // continues until the intervals are narrow enough. Their width says nothing about their
    // position, so this favours no verdict (Stein 1945).
    bool has_wide_intervals() const {
        const double most = std::log1p(1.15 * plan_.rule.min_effect);
        return std::ranges::any_of(result_.metrics, [&](const MetricResult& result) {
            if (!to_be_narrow_.contains(result.metric.name)) return false;
            const Shift shift = shift_of(result.metric.changes, plan_.rule.confidence);
            return (shift.high - shift.low) / 2 > most;
        });
    }

    // Returns the launches of the first stage, estimated from those so far: all that fit if the
    // budget is too short for a useful second stage. The measured values do not influence this
    // number.
    int launches_of_first(int before) const {
        const double all = before + std::floor(launches_left());
        if (plan_.most_launches == 0 || all >= plan_.first_launches + plan_.second_launches)
            return plan_.first_launches;
        return std::max(plan_.first_launches, static_cast<int>(all));
    }

    // Returns how many launches fit into the rest of the budget, at the average time so far.
    double launches_left() const {
        const double seconds = seconds_since(began_ns_);
        return (plan_.budget_seconds - seconds) * std::max(made_, 1) / seconds;
    }

    const StagedLaunch* known_launch(int stage, int number) const {
        const auto found = std::ranges::find_if(plan_.known, [&](const StagedLaunch& one) {
            return one.stage == stage && one.number == number;
        });
        return found == plan_.known.end() ? nullptr : &*found;
    }

    void run_stage(int stage, const std::set<std::string>& wanted, int launches) {
        stage_launches_ = 0;
        const auto goes_on = [&](int number) {
            return number <= launches ||
                   (stage == 2 && number <= plan_.most_launches && has_wide_intervals());
        };
        for (int number = 1; goes_on(number) && result_.wrong.empty() && has_metrics_left(wanted);
             ++number) {
            if (const StagedLaunch* known = known_launch(stage, number)) {
                add(known->seen, stage);
                continue;
            }
            if (made_ > 0 && launches_left() < 1) {
                result_.ran_out = true;
                return;
            }
            events_.progress(fmt::format("stage {}: launch {} of {}{}", stage, number,
                                         stage == 2 && !to_be_narrow_.empty() ? "at least " : "",
                                         std::max(number, launches)));
            StagedLaunch made{
                stage, number,
                launch_({.names = wanted,
                         .number = wanted.empty() ? result_.metrics.size() : wanted.size(),
                         .seconds_left = plan_.budget_seconds - seconds_since(began_ns_)})};
            if (made.seen.is_cut_short) {
                result_.ran_out = true;
                return;
            }
            ++made_;
            dropped_.insert(made.seen.dropped.begin(), made.seen.dropped.end());
            for (const auto& [name, why] : dropped_) made.seen.metrics.erase(name);
            drop_from(result_.metrics);
            add(made.seen, stage);
            if (stage == 1 && made_ == launches_timed) launches = launches_of_first(number);
            if (made.seen.wrong.empty()) events_.after_launch(made);
        }
    }

    void add(const LaunchOfBoth& launch, int stage) {
        ++result_.launches;
        ++stage_launches_;
        result_.wrong.insert(result_.wrong.end(), launch.wrong.begin(), launch.wrong.end());
        result_.missing.insert(launch.missing.begin(), launch.missing.end());
        for (const std::string& name : launch.order) {
            const auto found = launch.metrics.find(name);
            if (found == launch.metrics.end()) continue;
            auto known = std::ranges::find(result_.metrics, name, [](const MetricResult& result) {
                return result.metric.name;
            });
            if (known == result_.metrics.end())
                known = result_.metrics.insert(known, {.metric = {.name = name}, .stage = stage});
            if (known->stage != stage)  // only new launches decide
                *known = {.metric = {.name = name}, .stage = stage};
            known->launches.push_back(found->second);
            known->metric.changes.push_back(found->second.change);
            known->metric.noise_of_a.push_back(found->second.noise_a);
            known->metric.noise_of_b.push_back(found->second.noise_b);
        }
    }

    void drop_from(std::vector<MetricResult>& metrics) const {
        std::erase_if(metrics,
                      [&](const MetricResult& one) { return dropped_.contains(one.metric.name); });
    }

    // Returns false if all metrics that the stage measures have been dropped.
    bool has_metrics_left(const std::set<std::string>& wanted) const {
        if (dropped_.empty()) return true;
        if (wanted.empty()) return !result_.metrics.empty();
        return !std::ranges::includes(std::views::keys(dropped_), wanted);
    }

    void add_mean(const std::vector<MetricResult>& first_stage) {
        std::vector<ComparedMetric> all;
        for (const MetricResult& result : first_stage) all.push_back(result.metric);
        if (const auto mean = geometric_mean(all))
            result_.mean = MetricResult{.metric = *mean,
                                        .judgement = judge(std::vector{*mean}, plan_.rule)[0]};
    }

    // Judges all metrics of the last stage together.
    void judge_all() {
        int last = 0;
        for (const MetricResult& result : result_.metrics) last = std::max(last, result.stage);
        std::vector<ComparedMetric> metrics;
        std::vector<MetricResult*> results;
        for (MetricResult& result : result_.metrics) {
            if (result.stage != last) continue;
            metrics.push_back(result.metric);
            results.push_back(&result);
        }
        const auto judgements = judge(metrics, plan_.rule);
        for (std::size_t i = 0; i < judgements.size(); ++i) results[i]->judgement = judgements[i];
    }

    // Decides an undecided mean if all metrics were shown to be the same in the second stage.
    void settle_mean() {
        if (!result_.mean || result_.mean->judgement.change != Change::undecided) return;
        std::vector<Judgement> judgements;
        for (const MetricResult& result : result_.metrics) judgements.push_back(result.judgement);
        if (!std::ranges::all_of(judgements,
                                 [](const Judgement& one) { return one.change == Change::same; }))
            return;
        result_.mean->judgement = of_mean_of_same(judgements, result_.mean->judgement, plan_.rule);
    }

    const LaunchBoth& launch_;
    const ComparisonPlan& plan_;
    const ComparisonEvents& events_;
    const std::int64_t began_ns_ = now_ns();
    int made_ = 0;                        // launches made by this process
    int stage_launches_ = 0;              // in the current stage
    std::set<std::string> to_be_narrow_;  // metrics that need narrow intervals in the second stage
    std::map<std::string, std::string> dropped_;  // metric, reason
    ComparisonResult result_;
};

}  // namespace

double MetricResult::a_ns() const { return median_of(launches, &LaunchOfMetric::a_ns); }
double MetricResult::b_ns() const { return median_of(launches, &LaunchOfMetric::b_ns); }

ComparisonResult compare(const LaunchBoth& launch, const ComparisonPlan& plan,
                         const ComparisonEvents& events) {
    return Comparison(launch, plan, events).run();
}

}  // namespace tutti
