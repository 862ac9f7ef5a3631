// SPDX-License-Identifier: Apache-2.0
#include "autotune/search/search.hpp"

#include <algorithm>
#include <cmath>
#include <set>

#include "autotune/choice/scale.hpp"
#include "autotune/search/search_steps.hpp"
#include "autotune/search/search_state.hpp"
#include "autotune/search/trend.hpp"

namespace tutti {
namespace {

// Families with parameters that are this close to the leader are finalists.
constexpr double close_at_anchor = 3.0;
constexpr double close_in_bracket = 1.5;
constexpr std::size_t most_descents = 3;

/// The best families with parameters go down their scales.
void tune_finalists(SearchState& course, std::size_t size, double close, int stride) {
    const int leader = course.book().leader(size);
    if (leader < 0) return;
    const double best = *course.book().level(size, leader);
    std::vector<std::pair<double, std::size_t>> finalists;
    for (std::size_t family = 0; family < course.families().count(); ++family) {
        const int arm = course.best_of(family, size);
        if (arm < 0 || !course.families().has_parameters(family)) continue;
        const double gap = *course.book().level(size, arm) - best;
        if (gap < std::log(close)) finalists.emplace_back(gap, family);
    }
    std::sort(finalists.begin(), finalists.end());
    finalists.resize(std::min(finalists.size(), most_descents));
    for (const auto& [gap, family] : finalists) descend(course, family, size, stride);
}

/// Smallest and largest. Where transports change their protocol times jump, but at another size for
/// each variant; bisection finds that as well as a search that is told.
std::set<std::size_t> anchors_of(const SearchState& course) {
    return {0, course.sizes().size() - 1};
}

// The largest comes last: the model has been compared with the others by then, and saves the most
// time there.
void race_at_anchors(SearchState& course) {
    for (const std::size_t size : anchors_of(course)) {
        if (course.is_over()) return;
        course.race_in_rounds(size, representatives_at(course, size));
        tune_finalists(course, size, close_at_anchor, 2);
        course.prior().learn(course.book(), size);
        course.settle(size);
    }
}

bool leads_clearly(const SearchState& course, std::size_t size, int winner) {
    for (const int arm : course.book().raced(size)) {
        if (arm == winner) continue;
        if (course.book().gap(size, arm, winner) < std::log(1 + course.options().clear_lead))
            return false;
    }
    return true;
}

/// One winner at both ends, far ahead, two octaves apart: nothing is to be found between them.
bool is_taken_over(const SearchState& course, std::size_t low, std::size_t high) {
    const int winner = course.book().leader(low);
    return winner >= 0 && winner == course.book().leader(high) &&
           octaves(course.sizes()[low], course.sizes()[high]) <= 2 &&
           leads_clearly(course, low, winner) && leads_clearly(course, high, winner);
}

struct Bracket {
    std::size_t low, high;
};

/// The unsettled size nearest to the middle of the bracket.
std::size_t middle_of(const SearchState& course, const Bracket& bracket) {
    std::size_t middle = bracket.low + 1;
    const double half = octaves(course.sizes()[bracket.low], course.sizes()[bracket.high]) / 2;
    const auto distance = [&](std::size_t size) {
        return std::abs(octaves(course.sizes()[bracket.low], course.sizes()[size]) - half);
    };
    for (std::size_t size = middle; size < bracket.high; ++size)
        if (distance(size) < distance(middle)) middle = size;
    return middle;
}

/// The widest first, so that an early end leaves no part of the sizes unseen.
void bisect(SearchState& course) {
    std::vector<Bracket> brackets{{0, course.sizes().size() - 1}};
    const auto width = [&](const Bracket& b) {
        return octaves(course.sizes()[b.low], course.sizes()[b.high]);
    };
    while (!brackets.empty() && !course.is_over()) {
        const auto widest = std::max_element(
            brackets.begin(), brackets.end(),
            [&](const Bracket& a, const Bracket& b) { return width(a) < width(b); });
        const Bracket bracket = *widest;
        brackets.erase(widest);
        if (bracket.high - bracket.low < 2) continue;
        const std::size_t middle = middle_of(course, bracket);
        if (is_taken_over(course, bracket.low, bracket.high)) {
            for (std::size_t size = bracket.low + 1; size < bracket.high; ++size)
                course.settle(size);
            continue;
        }
        course.race_in_rounds(middle, candidates_at(course, middle));
        tune_finalists(course, middle, close_in_bracket, 1);
        course.settle(middle);
        brackets.push_back({bracket.low, middle});
        brackets.push_back({middle, bracket.high});
    }
}

Finding finding_at(const SearchState& course, const Trend& trend, std::size_t size) {
    const SampleLog& book = course.book();
    Finding finding{.size = course.sizes()[size], .winner = trend.leader(size)};
    if (finding.winner < 0) {
        finding.winner = taken_over_at(course, size);
        return finding;
    }
    finding.measured = true;
    finding.doubt = trend.doubt(size);
    std::vector<int> arms = book.raced(size);
    std::sort(arms.begin(), arms.end(), [&](int a, int b) {
        const bool a_wins = a == finding.winner, b_wins = b == finding.winner;
        return a_wins != b_wins ? a_wins : *book.level(size, a) < *book.level(size, b);
    });
    for (const int arm : arms) {
        const double gap = arm == finding.winner ? 0 : trend.gap(size, arm, finding.winner).gap;
        finding.entries.push_back({arm, book.samples_ns(size, arm), std::exp(gap)});
    }
    return finding;
}

std::vector<Finding> findings_of(const SearchState& course) {
    const Trend trend(course.book(), course.sizes());
    std::vector<Finding> findings;
    for (std::size_t size = 0; size < course.sizes().size(); ++size)
        findings.push_back(finding_at(course, trend, size));
    return findings;
}

}  // namespace

std::vector<Finding> search(Evaluator& evaluator, std::span<const Bytes> sizes,
                            const SearchOptions& options) {
    if (sizes.empty() || evaluator.arms().empty()) return {};
    SearchState course(evaluator, sizes, options);
    race_at_anchors(course);
    bisect(course);
    refine(course);
    return findings_of(course);
}

}  // namespace tutti
