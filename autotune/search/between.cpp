// SPDX-License-Identifier: Apache-2.0
#include "autotune/search/between.hpp"

#include <cmath>

#include "autotune/choice/scale.hpp"

namespace tutti {
namespace {

double affine_level(Bytes low, double low_level, Bytes high, double high_level, Bytes size) {
    const double share =
        static_cast<double>(size.count - low.count) / static_cast<double>(high.count - low.count);
    const double low_ns = std::exp(low_level);
    const double high_ns = std::exp(high_level);
    return std::log(low_ns + share * (high_ns - low_ns));
}

/// The least prediction of any member.
std::optional<double> prior_level(const SearchState& state, std::size_t family, std::size_t size) {
    std::optional<double> least;
    for (const int arm : state.families().members(family)) {
        const std::optional<double> level = state.prior().level(arm, size);
        if (level && (!least || *level < *least)) least = level;
    }
    return least;
}

bool is_trusted(const SearchState& state) {
    const std::optional<double> error = state.prior().error();
    return error && *error <= state.options().model_error;
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
    if (!is_trusted(state)) return std::nullopt;
    const std::optional<double> prior_low = prior_level(state, family, *ends.low);
    const std::optional<double> prior_high = prior_level(state, family, *ends.high);
    const std::optional<double> prior_here = prior_level(state, family, size);
    if (!prior_low || !prior_high || !prior_here) return std::nullopt;
    return *prior_here + halfway(low_level - *prior_low, high_level - *prior_high);
}

}  // namespace tutti
