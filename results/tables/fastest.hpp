// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <set>
#include <span>
#include <string>

#include "results/summary/ranking.hpp"

namespace tutti {

/// The keys of the fastest points of each subject and size, as ranked by Ranking over all launches:
/// tables of one row per size show these.
struct Fastest {
    std::set<Key> of_all, of_tutti, of_libraries;
};

/// "all_reduce float sum, out of place, registered memory": what points of one table share, except
/// the number of ranks.
std::string subject_in_words(const Key& key);

/// Takes the points of all launches. Skipped points and wrong results do not count.
Fastest fastest_of(std::span<const Point> points);

/// A table for each subject of a sweep (type, op, root, buffers, input, placement; out of place
/// where that was measured): a line per size with the fastest candidate, its ratio to the fastest
/// library and the candidates that are statistically tied with it, then the geometric mean over the
/// sizes. `points` are those of all launches. Empty where there are no two candidates to choose
/// from. Whole lines, each a comment ("# ...").
std::string fastest_table(std::span<const Point> points);

}  // namespace tutti
