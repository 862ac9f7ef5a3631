// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "results/records/point.hpp"

namespace tutti {

/// What a point's samples are: calls of its one launch, or the medians of several launches in their
/// order (see over_launches).
enum class SamplesOf { calls, launches };

/// How many times as fast one is as another: the other's median over its own, with a 95 % interval.
struct TimesAsFast {
    double ratio = 1;
    double low = 0, high = 0;  ///< both 0: unknown, as one of the two has too few samples
    /// The logarithm of the ratio in each launch; empty where samples are calls.
    std::vector<double> by_launch = {};

    bool is_known() const { return high > 0; }
    /// Whether the interval tells the two apart.
    bool is_apart() const { return low > 1 || (is_known() && high < 1); }
};

/// Of calls the errors of both medians are taken as independent: how far their intervals reach, in
/// logarithms, adds in squares (MOVER: Zou and Donner 2008, Stat. Med. 27). Of launches, each of
/// which measured both in turns, the ratios in each are what counts; where not all have both, it is
/// as of calls.
TimesAsFast times_as_fast(const Point& one, const Point& other, SamplesOf samples);

/// Who is fastest at one size.
struct Fastest {
    const Point* best = nullptr;        ///< of tutti's candidates; null: none was measured
    const Point* library = nullptr;     ///< of the libraries'; null: none was measured
    std::vector<const Point*> as_good;  ///< of tutti's: those that cannot be told from `best`
};

/// Of points at the same size that differ by their candidates alone; skipped ones and wrong results
/// do not count. The best has the least median; of launches, where there is a library, the largest
/// ratio to it.
Fastest fastest_of(std::span<const Point* const> points, SamplesOf samples);

/// For each subject of a sweep (type, op, root, buffers, input, placement; out of place where that
/// was measured) a table with a line per size, and the geometric mean over the sizes. Empty where
/// there are no two candidates to choose from. Whole lines, each a comment ("# ...").
std::string fastest_table(std::span<const Point> points, SamplesOf samples);

}  // namespace tutti
