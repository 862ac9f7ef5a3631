// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "base/types.hpp"
#include "base/units.hpp"
#include "workloads/models/model.hpp"
#include "workloads/program/program.hpp"

namespace tutti {

struct ZeroShape {
    int stage = 3;  ///< what is sharded: 1 optimizer state, 2 gradients too, 3 weights too
    /// Stage 3: units gathered ahead of the one that computes. Each costs a buffer.
    int prefetch = 1;
    Bytes bucket{25 << 20};  ///< stages 1 and 2: gradients sent together
    DataType type = DataType::float32;
};

/// A step of ZeRO (Rajbhandari et al. 2020, arXiv:1910.02054), stage 3 as PyTorch's
/// FullyShardedDataParallel does it (Zhao et al. 2023, arXiv:2304.11277). Each rank owns a P-th of
/// every message, which is padded to a multiple of P.
///
/// Stage 1: buckets of gradients are reduce-scattered after backward, the new weights
/// gathered. Stage 2: the same, but a bucket leaves as soon as it is ready, beside backward.
/// Stage 3: a unit's weights are gathered for forward and once more for backward, its
/// gradients reduce-scattered; at most `prefetch` gathers and two reduce-scatters are under way
/// beside the computing.
///
/// With N weights of b bytes a rank sends b N (1 + 1/P) bytes, in stage 3 b N (1 + 2/P):
/// its gradients and its share of the weights once or twice. What is gathered is b N each time.
Program zero_program(const Model& model, const ZeroShape& shape, std::int64_t compute_ns,
                     int ranks);

}  // namespace tutti
