// SPDX-License-Identifier: Apache-2.0
#include "results/comparison/staged_comparison.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <ranges>
#include <set>
#include <utility>

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
        judge_first_stage();
        std::set<std::string> suspects;
        for (const MetricResult& result : result_.metrics)
            if (result.judgement.change != Change::same) suspects.insert(result.metric.name);
        // A second stage with too few launches would only discard the verdicts of the first.
        const int least = least_launches(rule_of_look(plan_.rule, 1, true), suspects.size());
        const bool pays = plan_.most_launches >= least && launches_left() >= least;
        if (!suspects.empty() && result_.wrong.empty() && !result_.ran_out) {
            const std::vector<MetricResult> first = result_.metrics;
            if (pays) run_second_stage(suspects);
            result_.ran_out = result_.ran_out || (!pays && plan_.most_launches > 0);
            if (stage_launches_ < least) {  // the stage was cut short
                result_.metrics = first;
                drop_from(result_.metrics);
                judge_first_stage();
            }
        }
        add_mean();
        settle_mean();
        // Drops reasons of metrics that other launches could measure.
        for (const MetricResult& result : result_.metrics)
            result_.missing.erase(result.metric.name);
        result_.missing.insert(dropped_.begin(), dropped_.end());
        if (result_.ran_out && result_.launches == 0)
            result_.missing["all metrics"] =
                "the budget ended during the first launch; use a larger --budget";
        result_.seconds = spent();
        if (made_ > 0) result_.launch_seconds = result_.seconds / made_;
        return std::move(result_);
    }

private:
    double spent() const { return static_cast<double>(plan_.now_ns() - began_ns_) / 1e9; }

    // Returns how many launches the first look of the second stage needs to detect twice the
    // minimum effect, or half of the effect seen in the first stage if that is larger.
    int launches_of_first_look(const std::set<std::string>& suspects) const {
        const Rule rule = rule_of_look(plan_.rule, 1, false);
        int needed = std::max(plan_.second_launches, least_launches(rule, suspects.size()) + 1);
        for (const MetricResult& result : result_.metrics) {
            if (!suspects.contains(result.metric.name)) continue;
            const double seen = std::expm1(std::abs(result.judgement.shift.estimate));
            const double wished = std::max(2 * rule.min_effect, seen / 2);
            needed = std::max(needed, launches_for(result.metric, wished, rule).value_or(0));
        }
        return std::min(needed, plan_.most_launches);
    }

    void run_second_stage(const std::set<std::string>& suspects) {
        constexpr double growth = 1.4;
        int until = launches_of_first_look(suspects);
        std::set<std::string> open = suspects;
        stage_launches_ = 0;
        for (int look = 1; !open.empty(); ++look) {
            run_stage(2, open, until);
            std::erase_if(open, [&](const std::string& name) { return dropped_.contains(name); });
            const bool is_last = stage_launches_ < until || until >= plan_.most_launches;
            look_at(open, rule_of_look(plan_.rule, look, is_last));
            if (is_last) break;
            until = std::min(plan_.most_launches, static_cast<int>(std::ceil(growth * until)));
        }
        result_.ran_out = result_.ran_out && !open.empty();
    }

    // Judges the open metrics, and closes those that are decided or never will be. The adjustment
    // by Holm counts all metrics of the stage but those found to be slower or faster before.
    void look_at(std::set<std::string>& open, const Rule& rule) {
        std::vector<ComparedMetric> metrics, closed;
        std::vector<MetricResult*> results;
        for (MetricResult& result : result_.metrics) {
            if (result.stage != 2) continue;
            const Change before = result.judgement.change;
            if (open.contains(result.metric.name)) {
                metrics.push_back(result.metric);
                results.push_back(&result);
            } else if (before == Change::same || before == Change::undecided) {
                closed.push_back({.name = result.metric.name});  // without launches: p is 1
            }
        }
        metrics.insert(metrics.end(), closed.begin(), closed.end());
        const std::vector<Judgement> judgements = judge(metrics, rule);
        for (std::size_t i = 0; i < results.size(); ++i) {
            results[i]->judgement = judgements[i];
            const bool is_decided = judgements[i].change != Change::undecided;
            if (is_decided || is_as_narrow_as_needed(judgements[i], rule))
                open.erase(results[i]->metric.name);
        }
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
        const double seconds = spent();
        return (plan_.budget_seconds - seconds) * std::max(made_, 1) / seconds;
    }

    const StagedLaunch* known_launch(int stage, int number) const {
        const auto found = std::ranges::find_if(plan_.known, [&](const StagedLaunch& one) {
            return one.stage == stage && one.number == number;
        });
        return found == plan_.known.end() ? nullptr : &*found;
    }

    // Continues the stage until it has that many launches.
    void run_stage(int stage, const std::set<std::string>& wanted, int launches) {
        for (int number = stage_launches_ + 1;
             number <= launches && result_.wrong.empty() && has_metrics_left(wanted); ++number) {
            if (const StagedLaunch* known = known_launch(stage, number)) {
                add(known->seen, stage);
                continue;
            }
            if (made_ > 0 && launches_left() < 1) {
                result_.ran_out = true;
                return;
            }
            events_.progress(fmt::format("stage {}: launch {} of {}{}", stage, number,
                                         stage == 2 ? "at least " : "", launches));
            StagedLaunch made{
                stage, number,
                launch_({.names = wanted,
                         .number = wanted.empty() ? result_.metrics.size() : wanted.size(),
                         .seconds_left = plan_.budget_seconds - spent()})};
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
            MetricResult empty{
                .metric = {.name = name, .higher_is_better = found->second.higher_is_better},
                .stage = stage};
            if (known == result_.metrics.end())
                known = result_.metrics.insert(known, std::move(empty));
            else if (known->stage != stage)  // only new launches decide
                *known = std::move(empty);
            all_launches_[name][result_.launches] = found->second;
            known->launches.push_back(found->second);
            add_to(known->metric, found->second);
        }
    }

    static void add_to(ComparedMetric& metric, const LaunchOfMetric& launch) {
        metric.changes.push_back(launch.change);
        metric.noise_of_a.push_back(launch.noise_a);
        metric.noise_of_b.push_back(launch.noise_b);
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

    // Takes the launches of both stages: no metric was selected for the mean.
    void add_mean() {
        std::map<std::vector<int>, MeasuredTogether> groups;
        for (const MetricResult& result : result_.metrics) {
            std::vector<int> numbers;
            ComparedMetric metric{.name = result.metric.name,
                                  .higher_is_better = result.metric.higher_is_better};
            for (const auto& [number, launch] : all_launches_[metric.name]) {
                numbers.push_back(number);
                add_to(metric, launch);
            }
            groups[numbers].launches = numbers;
            groups[numbers].metrics.push_back(std::move(metric));
        }
        const auto values = std::views::values(groups);
        const auto mean =
            judge_mean(std::vector(values.begin(), values.end()),
                       last_stage() == 2 ? rule_of_look(plan_.rule, 1, true) : plan_.rule);
        if (mean)
            result_.mean = MetricResult{.metric = {.name = "geometric mean"}, .judgement = *mean};
    }

    int last_stage() const {
        int last = 1;
        for (const MetricResult& result : result_.metrics) last = std::max(last, result.stage);
        return last;
    }

    void judge_first_stage() {
        std::vector<ComparedMetric> metrics;
        for (const MetricResult& result : result_.metrics) metrics.push_back(result.metric);
        const auto judgements = judge(metrics, plan_.rule);
        for (std::size_t i = 0; i < judgements.size(); ++i)
            result_.metrics[i].judgement = judgements[i];
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
    const std::int64_t began_ns_ = plan_.now_ns();
    int made_ = 0;                                // launches made by this process
    int stage_launches_ = 0;                      // in the current stage
    std::map<std::string, std::string> dropped_;  // metric, reason
    std::map<std::string, std::map<int, LaunchOfMetric>> all_launches_;  // by metric and number
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
