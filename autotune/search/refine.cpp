// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <optional>
#include <vector>

#include "autotune/choice/scale.hpp"
#include "autotune/search/gap_model.hpp"
#include "autotune/search/search_state.hpp"
#include "autotune/search/search_steps.hpp"

namespace tutti {

/// The cost of a search so far, relative to racing every arm at every size.
class Budget {
public:
    /// Estimates the exhaustive time from what has raced.
    explicit Budget(const SearchState& state);

    /// Returns the larger one of the used shares of samples and of time.
    double share() const;
    bool is_used_up() const { return share() >= 1; }

private:
    const SearchState& state_;
    double samples_limit_ = 0;
    double limit_ns_ = 0;
};

namespace {

constexpr double exhaustive_repetitions = 20;

std::optional<double> level_at(const SearchState& state, std::size_t family, std::size_t size) {
    const int best = state.best_of(family, size);
    if (best >= 0) return state.log().level(size, best);
    return level_between(state, family, size, Line::logarithmic);
}

/// Estimates with a family's best member for all members, so the estimate is rather too small.
double exhaustive_ns(const SearchState& state) {
    double sum = 0;
    for (std::size_t family = 0; family < state.families().count(); ++family)
        for (std::size_t size = 0; size < state.sizes().size(); ++size)
            if (const std::optional<double> level = level_at(state, family, size))
                sum += std::exp(*level) * state.runners(family, size);
    return exhaustive_repetitions * sum;
}

}  // namespace

Budget::Budget(const SearchState& state) : state_(state) {
    double all = 0;
    for (std::size_t family = 0; family < state.families().count(); ++family)
        for (std::size_t size = 0; size < state.sizes().size(); ++size)
            all += state.runners(family, size);
    samples_limit_ = state.options().sample_share * exhaustive_repetitions * all;
    limit_ns_ = state.options().time_share * exhaustive_ns(state);
}

double Budget::share() const {
    const double samples = static_cast<double>(state_.log().total()) / samples_limit_;
    const double time = limit_ns_ > 0 ? state_.log().total_ns() / limit_ns_ : 0;
    return std::max(samples, time);
}

namespace {

constexpr int repetitions = 3;
constexpr std::size_t most_finalists = 4;
constexpr int most_passes = 2;

struct Final {
    std::size_t size = 0;
    std::vector<int> finalists;  ///< the leader and those that may be better, the likeliest first
    double urgency = 0;          ///< 0: settled
};

/// All sizes have the same weight, so the cheap ones of equally doubtful sizes come first; the
/// square root keeps these from taking all of the time.
double urgency_of(const SearchState& state, const Final& at, double doubt) {
    double cost_ns = 0;
    for (const int arm : at.finalists) cost_ns += std::exp(*state.log().level(at.size, arm));
    return doubt / std::pow(cost_ns, 0.25);
}

Final final_at(const SearchState& state, const GapModel& gaps, std::size_t size) {
    const SampleLog& log = state.log();
    Final final{.size = size};
    const int leader = gaps.leader(size);
    if (leader < 0) return final;
    const auto enough = static_cast<std::size_t>(state.options().finalist_samples);
    std::vector<std::pair<double, int>> rivals;
    for (const int arm : log.raced(size)) {
        if (arm == leader || std::min(log.count(size, arm), log.count(size, leader)) >= enough)
            continue;
        const double doubt = gaps.gap(size, arm, leader).doubt();
        if (doubt >= state.options().doubt) rivals.emplace_back(-doubt, arm);
    }
    if (rivals.empty()) return final;
    std::sort(rivals.begin(), rivals.end());
    rivals.resize(std::min(rivals.size(), most_finalists - 1));
    final.finalists.push_back(leader);
    for (const auto& [doubt, arm] : rivals) final.finalists.push_back(arm);
    final.urgency = urgency_of(state, final, -rivals[0].first);
    return final;
}

/// Updates only the sizes near the one that raced.
bool may_have_changed(const SearchState& state, std::size_t raced, std::size_t size) {
    return std::abs(octaves(state.sizes()[raced], state.sizes()[size])) <= GapModel::reach;
}

void decide_doubts(SearchState& state, const GapModel& gaps, const Budget& budget) {
    std::vector<Final> finals;
    for (std::size_t size = 0; size < state.sizes().size(); ++size)
        finals.push_back(final_at(state, gaps, size));
    while (!state.is_over() && !budget.is_used_up()) {
        const Final next =
            *std::max_element(finals.begin(), finals.end(),
                              [](const Final& a, const Final& b) { return a.urgency < b.urgency; });
        if (next.finalists.empty()) return;
        state.set_refined(budget.share());
        state.race(next.size, next.finalists, repetitions);
        for (Final& final : finals)
            if (may_have_changed(state, next.size, final.size))
                final = final_at(state, gaps, final.size);
    }
}

/// Returns winners at the nearest measured sizes that have not raced here, and the leader itself.
std::vector<int> visitors_at(const SearchState& state, const GapModel& gaps, std::size_t size) {
    const int leader = gaps.leader(size);
    if (leader < 0) return {};
    std::vector<int> arms = {leader};
    const auto invite = [&](std::size_t other) {
        const int winner = gaps.leader(other);
        if (winner < 0) return false;
        if (state.log().count(size, winner) == 0 && winner != arms.back()) arms.push_back(winner);
        return true;
    };
    for (std::size_t low = size; low > 0;)
        if (invite(--low)) break;
    for (std::size_t high = size + 1; high < state.sizes().size(); ++high)
        if (invite(high)) break;
    if (arms.size() == 1) arms.clear();
    return arms;
}

/// Races the winners of each size at its neighbours and refines them there, so that good parameters
/// spread.
void exchange_winners(SearchState& state, const GapModel& gaps, const Budget& budget) {
    bool has_raced = true;
    for (int pass = 0; pass < most_passes && has_raced; ++pass) {
        has_raced = false;
        for (std::size_t size = 0; size < state.sizes().size(); ++size) {
            if (state.is_over() || budget.is_used_up()) return;
            const std::vector<int> visitors = visitors_at(state, gaps, size);
            if (!visitors.empty()) {
                state.race(size, visitors, repetitions);
                has_raced = true;
            }
            const int leader = gaps.leader(size);
            if (leader >= 0) descend(state, state.families().of(leader), size, 1);
        }
    }
}

}  // namespace

void refine(SearchState& state) {
    const Budget budget(state);
    const GapModel gaps(state.log(), state.sizes());
    exchange_winners(state, gaps, budget);
    decide_doubts(state, gaps, budget);
    exchange_winners(state, gaps, budget);
}

}  // namespace tutti
