// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <optional>
#include <string>
#include <vector>

namespace tutti {

/// Four blocks in a row, two of A and two of B: A B | B A, or B A | A B.
template <class Block>
struct QuadOf {
    Block a1{}, b1{}, b2{}, a2{};
    bool a_first = true;
};

/// Times, in any unit. 0: nothing counted.
using Quad = QuadOf<double>;

/// One launch of A and B, summarised for a metric. Logarithms are natural.
struct LaunchOfMetric {
    double change = 0;   ///< ln(B / A), the centre (Hodges-Lehmann) of the quads' means
    double noise_a = 0;  ///< ln(A / A) of the same quads; 0 but for noise
    double noise_b = 0;  ///< ln(B / B)
    double a_ns = 0;     ///< the median time
    double b_ns = 0;
    std::string unit = "ns";        ///< of both; other numbers of programs have their own, or none
    bool higher_is_better = false;  ///< true for rates
    std::vector<double> quads;      ///< ln(B / A) of each

    bool operator==(const LaunchOfMetric&) const = default;
};

/// Returns none if no quad has all of its times. A machine that gets steadily slower does not bias
/// the result: A and B each run once before and once after the other in a quad, and the side that
/// is first in one quad is second in the next.
std::optional<LaunchOfMetric> summary_of(const std::vector<Quad>& quads);

}  // namespace tutti
