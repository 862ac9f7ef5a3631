// SPDX-License-Identifier: Apache-2.0
#include "autotune/search/search.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>
#include <utility>

#include "autotune/choice/scale.hpp"
#include "autotune/search/gap_model.hpp"
#include "autotune/search/search_state.hpp"
#include "autotune/search/search_steps.hpp"
#include "base/index.hpp"
#include "results/statistics/statistics.hpp"

namespace tutti {
namespace {

// Families with parameters within this factor of the leader are finalists.
constexpr double close_at_anchor = 3.0;
constexpr double close_in_bracket = 1.5;
constexpr std::size_t most_descents = 3;

/// Descends the scales of the best families with parameters.
void tune_finalists(SearchState& state, std::size_t size, double close, int stride) {
    const int leader = state.log().leader(size);
    if (leader < 0) return;
    const double best = *state.log().level(size, leader);
    std::vector<std::pair<double, std::size_t>> finalists;
    for (std::size_t family = 0; family < state.families().count(); ++family) {
        const int arm = state.best_of(family, size);
        if (arm < 0 || !state.families().has_parameters(family)) continue;
        const double gap = *state.log().level(size, arm) - best;
        if (gap < std::log(close)) finalists.emplace_back(gap, family);
    }
    std::sort(finalists.begin(), finalists.end());
    finalists.resize(std::min(finalists.size(), most_descents));
    for (const auto& [gap, family] : finalists) descend(state, family, size, stride);
}

/// Returns the anchors: the smallest and the largest size. Times jump where transports change their
/// protocol, but at another size for each variant; bisection finds that as well as an exhaustive
/// search.
std::set<std::size_t> anchors_of(const SearchState& state) { return {0, state.sizes().size() - 1}; }

// The largest comes last: by then the model has been compared with other sizes, and saves most time
// there.
void race_at_anchors(SearchState& state) {
    for (const std::size_t size : anchors_of(state)) {
        if (state.is_over()) return;
        state.race(size, representatives_at(state, size), state.options().first_repetitions);
        tune_finalists(state, size, close_at_anchor, 2);
        state.prior().learn(state.log(), size);
        state.settle(size);
    }
}

bool leads_clearly(const SearchState& state, std::size_t size, int winner) {
    for (const int arm : state.log().raced(size)) {
        if (arm == winner) continue;
        if (state.log().gap(size, arm, winner) < std::log(1 + state.options().clear_lead))
            return false;
    }
    return true;
}

/// Returns whether the same winner leads clearly at both ends, two octaves apart: then no other
/// winner is expected in between.
bool is_taken_over(const SearchState& state, std::size_t low, std::size_t high) {
    const int winner = state.log().leader(low);
    return winner >= 0 && winner == state.log().leader(high) &&
           octaves(state.sizes()[low], state.sizes()[high]) <= 2 &&
           leads_clearly(state, low, winner) && leads_clearly(state, high, winner);
}

struct Bracket {
    std::size_t low, high;
};

/// Returns the unsettled size nearest to the middle of the bracket.
std::size_t middle_of(const SearchState& state, const Bracket& bracket) {
    std::size_t middle = bracket.low + 1;
    const double half = octaves(state.sizes()[bracket.low], state.sizes()[bracket.high]) / 2;
    const auto distance = [&](std::size_t size) {
        return std::abs(octaves(state.sizes()[bracket.low], state.sizes()[size]) - half);
    };
    for (std::size_t size = middle; size < bracket.high; ++size)
        if (distance(size) < distance(middle)) middle = size;
    return middle;
}

/// Bisects the widest bracket first, so that an early end leaves no part of the sizes unseen.
void bisect(SearchState& state) {
    std::vector<Bracket> brackets{{0, state.sizes().size() - 1}};
    const auto width = [&](const Bracket& b) {
        return octaves(state.sizes()[b.low], state.sizes()[b.high]);
    };
    while (!brackets.empty() && !state.is_over()) {
        const auto widest = std::max_element(
            brackets.begin(), brackets.end(),
            [&](const Bracket& a, const Bracket& b) { return width(a) < width(b); });
        const Bracket bracket = *widest;
        brackets.erase(widest);
        if (bracket.high - bracket.low < 2) continue;
        const std::size_t middle = middle_of(state, bracket);
        if (is_taken_over(state, bracket.low, bracket.high)) {
            for (std::size_t size = bracket.low + 1; size < bracket.high; ++size)
                state.settle(size);
            continue;
        }
        state.race(middle, candidates_at(state, middle), state.options().first_repetitions);
        tune_finalists(state, middle, close_in_bracket, 1);
        state.settle(middle);
        brackets.push_back({bracket.low, middle});
        brackets.push_back({middle, bracket.high});
    }
}

Finding finding_at(const SearchState& state, const GapModel& gaps, std::size_t size) {
    const SampleLog& log = state.log();
    Finding finding{.size = state.sizes()[size], .winner = gaps.leader(size)};
    if (finding.winner < 0) {
        finding.winner = taken_over_at(state, size);
        return finding;
    }
    finding.measured = true;
    finding.doubt = gaps.doubt(size);
    std::vector<int> arms = log.raced(size);
    std::sort(arms.begin(), arms.end(), [&](int a, int b) {
        const bool a_wins = a == finding.winner, b_wins = b == finding.winner;
        return a_wins != b_wins ? a_wins : *log.level(size, a) < *log.level(size, b);
    });
    for (const int arm : arms) {
        const double gap = arm == finding.winner ? 0 : gaps.gap(size, arm, finding.winner).gap;
        finding.entries.push_back({arm, log.samples_ns(size, arm), std::exp(gap)});
    }
    return finding;
}

std::vector<Finding> findings_of(const SearchState& state) {
    const GapModel gaps(state.log(), state.sizes());
    std::vector<Finding> findings;
    for (std::size_t size = 0; size < state.sizes().size(); ++size)
        findings.push_back(finding_at(state, gaps, size));
    return findings;
}

}  // namespace

std::vector<Finding> search(Evaluator& evaluator, std::span<const Bytes> sizes,
                            const SearchOptions& options) {
    if (sizes.empty() || evaluator.arms().empty()) return {};
    SearchState state(evaluator, sizes, options);
    race_at_anchors(state);
    bisect(state);
    refine(state);
    return findings_of(state);
}

Finding finding_by_medians(Bytes size, const SamplesByArm& samples_ns) {
    std::vector<std::pair<double, int>> order;
    for (const auto& [arm, samples] : samples_ns)
        if (!samples.empty()) order.emplace_back(median(samples), arm);
    std::ranges::sort(order);
    Finding finding{.size = size};
    for (const auto& [time, arm] : order) finding.entries.push_back({arm, samples_ns.at(arm)});
    if (order.empty()) return finding;
    finding.winner = order.front().second;
    finding.measured = true;
    return finding;
}

// Compares plain medians instead of the search's statistics, so that the reference does not share
// the search's errors.
std::vector<Finding> search_exhaustively(
    Evaluator& evaluator, std::span<const Bytes> sizes, int repetitions,
    const std::function<void(const SearchProgress&)>& progress) {
    std::vector<int> all(evaluator.arms().size());
    std::iota(all.begin(), all.end(), 0);
    std::vector<Finding> findings;
    for (const Bytes size : sizes) {
        SamplesByArm samples;
        if (!evaluator.is_over()) {
            auto raced = evaluator.race(size, all, repetitions);
            for (const int arm : all) samples[arm] = std::move(at(raced, arm));
        }
        const Finding& found = findings.emplace_back(finding_by_medians(size, samples));
        if (progress)
            progress(
                {.share = static_cast<double>(findings.size()) / static_cast<double>(sizes.size()),
                 .size = size,
                 .winner = found.winner});
    }
    return findings;
}

}  // namespace tutti
