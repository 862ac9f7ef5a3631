// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <vector>

#include "base/types.hpp"
#include "workloads/models/model.hpp"
#include "workloads/program/program.hpp"

namespace tutti {

struct MoeRouting {
    std::int64_t experts = 8;
    std::int64_t experts_per_token = 2;
    std::int64_t tokens = 1024;  ///< of a rank
    /// The exponent of Zipf's law: the expert of popularity rank i is chosen in proportion to 1 /
    /// i^skew; 0: all alike.
    double skew = 0;
    /// An expert takes so many times the mean from a rank; the rest is dropped.
    double capacity = 1.25;
    std::uint64_t seed = 1;
};

/// The experts of one rank's tokens in one layer.
struct RoutedTokens {
    std::vector<std::int64_t> accepted;  // tokens, by expert
    std::int64_t dropped = 0;            // choices, not tokens
};

/// The tokens that an expert takes from a rank.
std::int64_t capacity_of(const MoeRouting& routing);

/// Draws each token's experts, all different. Which experts are popular differs by layer. The same
/// on all ranks.
RoutedTokens route(const MoeRouting& routing, int layer, int rank);

struct MoeShape {
    int expert_ranks = 2;  ///< that the experts of a layer are shared out to; divides the ranks
    MoeRouting routing;    ///< experts as the model has them
    DataType type = DataType::float32;
};

struct MoeProgram {
    Program program;
    double dropped_share = 0;  ///< of all choices of experts
    double padding_share = 0;  ///< of what is sent: capacity that no token used
    /// What the rank with the most tokens computes, over the mean.
    double imbalance = 1;
};

/// A step with expert parallelism (GShard, Lepikhin et al. 2020, arXiv:2006.16668): in each layer
/// every rank sends the others its token counts, sends each token to its k experts and gets
/// them back (two all-to-alls), and in backward their gradients likewise. The all-to-all is padded
/// to the capacity C of an expert. A rank computes for as many tokens as its experts got. Weights
/// that are not experts' are averaged over all ranks, experts over those that hold the same ones.
///
/// With e expert ranks of at most x experts, L layers and D dense weights a rank sends
/// L (4 e x C H b + 8 e x) + b D bytes, and b times its experts' weights if they have replicas.
/// Without padding an all-to-all would be T k H b.
MoeProgram moe_program(const Model& model, const MoeShape& shape, std::int64_t compute_ns,
                       int ranks);

}  // namespace tutti
