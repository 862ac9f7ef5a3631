// SPDX-License-Identifier: Apache-2.0
#include "autotune/search/descent.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

namespace tutti {
namespace {

constexpr int probe_repetitions = 3;
// A smaller gain is not worth a race.
constexpr double worth_a_move = 0.01;

/// Races the neighbours along one scale; true if the best member moved.
bool step(SearchState& course, std::size_t family, std::size_t size, std::size_t parameter,
          int stride) {
    const int start = course.best_of(family, size);
    const std::vector<int> scale = course.families().scale_through(start, parameter);
    const auto place = std::find(scale.begin(), scale.end(), start) - scale.begin();
    std::vector<int> racers = {start};
    for (const std::ptrdiff_t neighbour : {place - stride, place + stride}) {
        if (neighbour < 0 || neighbour >= static_cast<std::ptrdiff_t>(scale.size())) continue;
        const int arm = scale[static_cast<std::size_t>(neighbour)];
        if (course.book().count(size, arm) == 0) racers.push_back(arm);
    }
    if (racers.size() == 1) return false;
    course.race(size, racers, probe_repetitions);
    const int best = course.best_of(family, size);
    return best != start && course.book().gap(size, start, best) > worth_a_move;
}

}  // namespace

void descend(SearchState& course, std::size_t family, std::size_t size, int stride) {
    if (course.best_of(family, size) < 0) return;
    for (; stride > 0; stride /= 2) {
        bool has_moved = true;
        while (has_moved && !course.is_over()) {
            has_moved = false;
            for (std::size_t parameter = 0; parameter < knobs.size(); ++parameter)
                while (!course.is_over() && step(course, family, size, parameter, stride))
                    has_moved = true;
        }
    }
}

}  // namespace tutti
