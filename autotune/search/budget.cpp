// SPDX-License-Identifier: Apache-2.0
#include "autotune/search/budget.hpp"

#include <algorithm>
#include <cmath>
#include <optional>
#include <vector>

#include "autotune/search/between.hpp"

namespace tutti {
namespace {

constexpr double exhaustive_repetitions = 20;

std::optional<double> level_at(const SearchState& course, std::size_t family, std::size_t size) {
    const int best = course.best_of(family, size);
    if (best >= 0) return course.book().level(size, best);
    return level_between(course, family, size, Line::logarithmic);
}

/// A family's best member stands for all of it, which makes the estimate too small rather than too
/// large.
double exhaustive_ns(const SearchState& course) {
    double sum = 0;
    for (std::size_t family = 0; family < course.families().count(); ++family)
        for (std::size_t size = 0; size < course.sizes().size(); ++size)
            if (const std::optional<double> level = level_at(course, family, size))
                sum += std::exp(*level) * course.runners(family, size);
    return exhaustive_repetitions * sum;
}

}  // namespace

Budget::Budget(const SearchState& course) : course_(course) {
    double all = 0;
    for (std::size_t family = 0; family < course.families().count(); ++family)
        for (std::size_t size = 0; size < course.sizes().size(); ++size)
            all += course.runners(family, size);
    samples_limit_ = course.options().sample_share * exhaustive_repetitions * all;
    limit_ns_ = course.options().time_share * exhaustive_ns(course);
}

double Budget::share() const {
    const double samples = static_cast<double>(course_.book().total()) / samples_limit_;
    const double time = limit_ns_ > 0 ? course_.book().total_ns() / limit_ns_ : 0;
    return std::max(samples, time);
}

}  // namespace tutti
