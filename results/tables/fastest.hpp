// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <span>
#include <string>

#include "results/summary/ranking.hpp"

namespace tutti {

/// The fastest of tutti's candidates and of the libraries at one size; null if none was measured.
struct Fastest {
    const Point* best = nullptr;
    const Point* library = nullptr;
};

/// Takes points at one size in one launch. Skipped points and wrong results do not count.
Fastest fastest_of(std::span<const Point* const> points);

/// A table for each subject of a sweep (type, op, root, buffers, input, placement; out of place
/// where that was measured): a line per size with the fastest candidate, its ratio to the fastest
/// library and the candidates that are statistically tied with it, then the geometric mean over the
/// sizes. `points` are those of all launches. Empty where there are no two candidates to choose
/// from. Whole lines, each a comment ("# ...").
std::string fastest_table(std::span<const Point> points);

}  // namespace tutti
