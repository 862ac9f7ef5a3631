// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <vector>

#include "autotune/search/search_steps.hpp"
#include "base/index.hpp"

namespace tutti {
namespace {

constexpr int probe_repetitions = 3;
// A smaller gain is not worth a race.
constexpr double least_gain = 0.01;

/// Races the neighbours along one scale. Returns whether the best member moved.
bool step(SearchState& state, std::size_t family, std::size_t size, std::size_t parameter,
          int stride) {
    const int start = state.best_of(family, size);
    const std::vector<int> scale = state.families().scale_through(start, parameter);
    const auto place = std::find(scale.begin(), scale.end(), start) - scale.begin();
    std::vector<int> racers = {start};
    for (const std::ptrdiff_t neighbour : {place - stride, place + stride}) {
        if (neighbour < 0 || neighbour >= static_cast<std::ptrdiff_t>(scale.size())) continue;
        const int arm = at(scale, neighbour);
        if (state.log().count(size, arm) == 0 && !state.model_puts_above(arm, start, size))
            racers.push_back(arm);
    }
    if (racers.size() == 1) return false;
    state.race(size, racers, probe_repetitions);
    const int best = state.best_of(family, size);
    return best != start && state.log().gap(size, start, best) > least_gain;
}

}  // namespace

void descend(SearchState& state, std::size_t family, std::size_t size, int stride) {
    if (state.best_of(family, size) < 0) return;
    for (; stride > 0; stride /= 2) {
        bool has_moved = true;
        while (has_moved && !state.is_over()) {
            has_moved = false;
            for (std::size_t parameter = 0; parameter < knobs.size(); ++parameter)
                while (!state.is_over() && step(state, family, size, parameter, stride))
                    has_moved = true;
        }
    }
}

}  // namespace tutti
