// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <random>

#include "base/index.hpp"
#include "workloads/scenarios/moe.hpp"

namespace tutti {
namespace {

// Distributions of the standard differ by library; the engine does not.
double uniform(std::mt19937_64& random) { return static_cast<double>(random() >> 11) * 0x1p-53; }

std::mt19937_64 engine(std::uint64_t seed, int layer, int rank) {
    std::seed_seq mixed{seed, static_cast<std::uint64_t>(layer), static_cast<std::uint64_t>(rank)};
    return std::mt19937_64(mixed);
}

// How much each expert is liked in a layer, by all ranks alike.
std::vector<double> popularity_of(const MoeRouting& routing, int layer) {
    std::vector<double> popularity;
    for (std::int64_t i = 1; i <= routing.experts; ++i)
        popularity.push_back(std::pow(static_cast<double>(i), -routing.skew));
    auto random = engine(routing.seed, layer, -1);
    for (std::size_t i = popularity.size(); i > 1; --i)
        std::swap(popularity[i - 1], at(popularity, random() % i));
    return popularity;
}

}  // namespace

std::int64_t capacity_of(const MoeRouting& routing) {
    const double mean = static_cast<double>(routing.tokens * routing.experts_per_token) /
                        static_cast<double>(routing.experts);
    // No expert is chosen twice by a token.
    return std::clamp<std::int64_t>(static_cast<std::int64_t>(std::ceil(routing.capacity * mean)),
                                    1, routing.tokens);
}

RoutedTokens route(const MoeRouting& routing, int layer, int rank) {
    const auto popularity = popularity_of(routing, layer);
    auto random = engine(routing.seed, layer, rank);
    const std::int64_t capacity = capacity_of(routing);
    RoutedTokens routed{std::vector<std::int64_t>(popularity.size()), 0};
    for (std::int64_t token = 0; token < routing.tokens; ++token) {
        std::vector<double> left = popularity;
        for (std::int64_t choice = 0; choice < routing.experts_per_token; ++choice) {
            double all = 0;
            for (const double one : left) all += one;
            double at = uniform(random) * all;
            std::size_t chosen = 0, last = 0;
            for (std::size_t expert = 0; expert < left.size(); ++expert) {
                if (left[expert] <= 0) continue;
                last = chosen = expert;
                if ((at -= left[expert]) < 0) break;
            }
            left[last] = 0;
            if (routed.accepted[chosen] < capacity)
                ++routed.accepted[chosen];
            else
                ++routed.dropped;
        }
    }
    return routed;
}

}  // namespace tutti
