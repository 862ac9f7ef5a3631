// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <limits>

#include "autotune/choice/scale.hpp"
#include "autotune/search/search_steps.hpp"

namespace tutti {
namespace {

double affine_level(Bytes low, double low_level, Bytes high, double high_level, Bytes size) {
    const double share =
        static_cast<double>(size.count - low.count) / static_cast<double>(high.count - low.count);
    const double low_ns = std::exp(low_level);
    const double high_ns = std::exp(high_level);
    return std::log(low_ns + share * (high_ns - low_ns));
}

/// Returns the least prediction of any member.
std::optional<double> prior_level(const SearchState& state, std::size_t family, std::size_t size) {
    std::optional<double> least;
    for (const int arm : state.families().members(family)) {
        const std::optional<double> level = state.prior().level(arm, size);
        if (level && (!least || *level < *least)) least = level;
    }
    return least;
}

}  // namespace

Ends ends_of(const SearchState& state, std::size_t family, std::size_t size) {
    Ends ends;
    for (std::size_t low = size; low-- > 0 && !ends.low;)
        if (state.best_of(family, low) >= 0) ends.low = low;
    for (std::size_t high = size + 1; high < state.sizes().size() && !ends.high; ++high)
        if (state.best_of(family, high) >= 0) ends.high = high;
    return ends;
}

std::optional<double> level_between(const SearchState& state, std::size_t family, std::size_t size,
                                    Line line) {
    const Ends ends = ends_of(state, family, size);
    if (!ends.are_both()) return std::nullopt;
    const Bytes low = state.sizes()[*ends.low], high = state.sizes()[*ends.high];
    const Bytes here = state.sizes()[size];
    const double low_level = *state.log().level(*ends.low, state.best_of(family, *ends.low));
    const double high_level = *state.log().level(*ends.high, state.best_of(family, *ends.high));
    if (line == Line::affine) return affine_level(low, low_level, high, high_level, here);

    const double share = octaves(low, here) / octaves(low, high);
    const auto halfway = [&](double at_low, double at_high) {
        return at_low + share * (at_high - at_low);
    };
    if (line == Line::logarithmic) return halfway(low_level, high_level);
    if (!state.trusted_error()) return std::nullopt;
    const std::optional<double> prior_low = prior_level(state, family, *ends.low);
    const std::optional<double> prior_high = prior_level(state, family, *ends.high);
    const std::optional<double> prior_here = prior_level(state, family, size);
    if (!prior_low || !prior_high || !prior_here) return std::nullopt;
    return *prior_here + halfway(low_level - *prior_low, high_level - *prior_high);
}

namespace {

constexpr double nowhere = std::numeric_limits<double>::infinity();

void add_once(std::vector<int>& arms, int arm) {
    if (arm >= 0 && std::find(arms.begin(), arms.end(), arm) == arms.end()) arms.push_back(arm);
}

/// By how much families lose to the best at a size: logarithms of ratios, by one interpolation;
/// none for families that it does not cover.
using Gaps = std::vector<std::optional<double>>;

Gaps gaps_by(Line line, const SearchState& state, std::size_t size) {
    Gaps gaps;
    double best = nowhere;
    for (std::size_t family = 0; family < state.families().count(); ++family) {
        gaps.push_back(level_between(state, family, size, line));
        best = std::min(best, gaps.back().value_or(nowhere));
    }
    for (std::optional<double>& gap : gaps)
        if (gap) *gap -= best;
    return gaps;
}

/// The families that cannot win at a size inside their brackets.
class Losers {
public:
    Losers(const SearchState& state, std::size_t size) : state_(state) {
        for (const Line line : all_lines) gaps_.push_back(gaps_by(line, state, size));
    }

    bool contains(std::size_t family, const Ends& ends) const {
        if (!ends.are_both()) return false;
        const double width = octaves(state_.sizes()[*ends.low], state_.sizes()[*ends.high]);
        double least = nowhere;  // by the interpolation that favours it most
        for (const Gaps& gaps : gaps_) least = std::min(least, gaps[family].value_or(nowhere));
        if (least > std::log(1 + state_.options().bracket_slack_per_octave * width)) return true;
        // Meeting both ends removes what the model gets wrong about a family at all sizes, about
        // half of the variance. So its error is also that of the ratio of two families.
        const std::optional<double> error = state_.trusted_error();
        const std::optional<double> by_model = gaps_[static_cast<std::size_t>(Line::model)][family];
        return error && by_model &&
               *by_model > std::max(std::log(state_.options().model_slack), *error);
    }

private:
    const SearchState& state_;
    std::vector<Gaps> gaps_;  // by Line
};

/// Returns the level above which the model alone drops an arm. Doubles the factor if the model was
/// not checked on both sides: an error of its bandwidths shows at large sizes only.
double model_limit(const SearchState& state, std::size_t size) {
    const std::optional<double> error = state.trusted_error();
    if (!error) return nowhere;
    double best = nowhere;
    for (std::size_t family = 0; family < state.families().count(); ++family)
        for (const int arm : state.families().members(family))
            if (const std::optional<double> level = state.prior().level(arm, size))
                best = std::min(best, *level);
    // Both the best and the arm may be wrong: four standard errors exceed both errors together.
    const double factor = std::max(std::log(state.options().model_factor), 4 * *error);
    return best + factor + (state.prior().is_between(size) ? 0 : std::log(2));
}

bool model_drops(const SearchState& state, int arm, std::size_t size, double limit) {
    const std::optional<double> level = state.prior().level(arm, size);
    return level && *level > limit;
}

int favourite_of_model(const SearchState& state, std::size_t family, std::size_t size) {
    int favourite = -1;
    double least = nowhere;
    for (const int arm : state.families().members(family)) {
        const std::optional<double> level = state.prior().level(arm, size);
        if (!level || *level >= least) continue;
        least = *level;
        favourite = arm;
    }
    return favourite;
}

int leader_below(const SearchState& state, std::size_t size) {
    int leader = -1;
    while (leader < 0 && size > 0) leader = state.log().leader(--size);
    return leader;
}

int leader_above(const SearchState& state, std::size_t size) {
    int leader = -1;
    while (leader < 0 && ++size < state.sizes().size()) leader = state.log().leader(size);
    return leader;
}

/// Parameters change slowly with the size, so takes the member halfway between the best on both
/// sides.
int representative_between(const SearchState& state, std::size_t family, const Ends& ends) {
    const int low = ends.low ? state.best_of(family, *ends.low) : -1;
    const int high = ends.high ? state.best_of(family, *ends.high) : -1;
    if (low < 0 && high < 0) return state.families().middle(family);
    if (low < 0 || high < 0) return std::max(low, high);
    return state.families().between(low, high);
}

}  // namespace

std::vector<int> candidates_at(const SearchState& state, std::size_t size) {
    std::vector<int> arms;
    add_once(arms, leader_below(state, size));
    add_once(arms, leader_above(state, size));
    const Losers losers(state, size);
    const double limit = model_limit(state, size);
    for (std::size_t family = 0; family < state.families().count(); ++family) {
        const Ends ends = ends_of(state, family, size);
        const int arm = representative_between(state, family, ends);
        if (!model_drops(state, arm, size, limit) && !losers.contains(family, ends))
            add_once(arms, arm);
    }
    return arms;
}

std::vector<int> representatives_at(const SearchState& state, std::size_t size) {
    std::vector<int> arms;
    const double limit = model_limit(state, size);
    for (std::size_t family = 0; family < state.families().count(); ++family) {
        const int favourite = favourite_of_model(state, family, size);
        if (favourite >= 0 && model_drops(state, favourite, size, limit)) continue;
        const int middle = state.families().middle(family);
        add_once(arms, middle);
        add_once(arms, favourite);
        // Without a model, the ends of the scales are tried as well.
        for (std::size_t parameter = 0; parameter < 3 && favourite < 0; ++parameter) {
            const std::vector<int> scale = state.families().scale_through(middle, parameter);
            add_once(arms, scale.front());
            add_once(arms, scale.back());
        }
    }
    return arms;
}

int taken_over_at(const SearchState& state, std::size_t size) {
    const int below = leader_below(state, size);
    const int above = leader_above(state, size);
    if (below < 0 || above < 0 || below == above) return std::max(below, above);
    int best = -1;
    double least = nowhere;
    for (std::size_t family = 0; family < state.families().count(); ++family) {
        const std::optional<double> level = level_between(state, family, size, Line::logarithmic);
        if (!level || *level >= least) continue;
        least = *level;
        best = representative_between(state, family, ends_of(state, family, size));
    }
    if (best >= 0) return best;
    return below;  // no family was measured on both sides
}

}  // namespace tutti
