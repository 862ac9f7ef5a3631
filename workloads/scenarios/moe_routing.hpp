// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <vector>

namespace tutti {

struct MoeRouting {
    std::int64_t experts = 8;
    std::int64_t experts_per_token = 2;
    std::int64_t tokens = 1024;  ///< of a rank
    /// Of the law of Zipf: the expert of popularity i is liked as 1 / i^skew; 0: all alike.
    double skew = 0;
    /// An expert takes so many times the mean from a rank; the rest is dropped.
    double capacity = 1.25;
    std::uint64_t seed = 1;
};

/// What one rank's tokens choose in one layer.
struct RoutedTokens {
    std::vector<std::int64_t> kept;  // by expert
    std::int64_t dropped = 0;        // choices, not tokens
};

/// Places for choices that a rank has with each expert.
std::int64_t capacity_of(const MoeRouting& routing);

/// Draws each token's experts, all different. Which experts are popular differs by layer. The same
/// wherever it is asked for.
RoutedTokens route(const MoeRouting& routing, int layer, int rank);

}  // namespace tutti
