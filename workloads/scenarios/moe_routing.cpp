// SPDX-License-Identifier: Apache-2.0
// The experts of tokens: drawn, or recorded.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>

#include "base/index.hpp"
#include "workloads/scenarios/patterns.hpp"

namespace tutti {
namespace {

// Distributions of the standard differ between libraries, engines do not.
double uniform(std::mt19937_64& random) { return static_cast<double>(random() >> 11) * 0x1p-53; }

std::mt19937_64 engine(std::uint64_t seed, int layer, int rank) {
    std::seed_seq mixed{seed, static_cast<std::uint64_t>(layer), static_cast<std::uint64_t>(rank)};
    return std::mt19937_64(mixed);
}

// Returns the popularity of each expert in a layer, the same on all ranks.
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
    // A token never chooses an expert twice.
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

namespace {

int first_expert(const MoeShape& shape, int place) {
    return static_cast<int>(shape.routing.experts * place / shape.expert_ranks);
}

// Returns how many of a rank's tokens each expert rank gets. `of_columns` has a count for each
// expert, or for each expert rank.
std::vector<std::int64_t> by_expert_rank(const MoeShape& shape,
                                         std::span<const std::int64_t> of_columns) {
    if (std::ssize(of_columns) == shape.expert_ranks) return {of_columns.begin(), of_columns.end()};
    std::vector<std::int64_t> sums(as_size(shape.expert_ranks));
    for (int place = 0; place < shape.expert_ranks; ++place)
        for (int expert = first_expert(shape, place); expert < first_expert(shape, place + 1);
             ++expert)
            at(sums, place) += at(of_columns, expert);
    return sums;
}

}  // namespace

int experts_at(const MoeShape& shape, int place) {
    return first_expert(shape, place + 1) - first_expert(shape, place);
}

void require_fit(const CountMatrices& recorded, const MoeShape& shape, int ranks) {
    const bool has_rows = recorded.rows == shape.expert_ranks || recorded.rows == ranks;
    const bool has_columns =
        recorded.columns == shape.expert_ranks || recorded.columns == shape.routing.experts;
    if (has_rows && has_columns) return;
    throw Error(fmt::format(
        "{}: its matrices have {} and {}; use a row for each of {} (--expert-ranks) or of {}, and "
        "a column for each expert rank or for each of {}",
        printable(recorded.name), counted(recorded.rows, "row"),
        counted(recorded.columns, "column"), counted(shape.expert_ranks, "expert rank"),
        counted(ranks, "rank"), counted(shape.routing.experts, "expert")));
}

LayerTokens tokens_of_layer(const MoeShape& shape, int block, int layer, int layers) {
    LayerTokens tokens;
    const auto add_row = [&](std::vector<std::int64_t>& matrix,
                             std::span<const std::int64_t> of_columns) {
        const auto row = by_expert_rank(shape, of_columns);
        matrix.insert(matrix.end(), row.begin(), row.end());
    };
    if (shape.recorded == nullptr) {
        auto& matrix = tokens.of_steps.emplace_back();
        for (int place = 0; place < shape.expert_ranks; ++place) {
            const RoutedTokens routed =
                route(shape.routing, layer, block * shape.expert_ranks + place);
            tokens.dropped += routed.dropped;
            add_row(matrix, routed.accepted);
        }
        return tokens;
    }
    const CountMatrices& recorded = *shape.recorded;
    const auto matrices = std::ssize(recorded.matrices), of_step = std::ptrdiff_t{layers};
    const int first_row = recorded.rows == shape.expert_ranks ? 0 : block * shape.expert_ranks;
    for (std::ptrdiff_t step = 0; step < std::lcm(matrices, of_step) / of_step; ++step) {
        const auto& counts = at(recorded.matrices, (step * of_step + layer - 1) % matrices);
        auto& matrix = tokens.of_steps.emplace_back();
        for (int place = 0; place < shape.expert_ranks; ++place)
            add_row(matrix, std::span(counts).subspan(
                                as_size(first_row + place) * as_size(recorded.columns),
                                as_size(recorded.columns)));
    }
    return tokens;
}

}  // namespace tutti
