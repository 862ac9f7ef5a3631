// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <vector>

#include "results/step.hpp"
#include "workloads/bench/buffer_pool.hpp"
#include "workloads/steps/compression_tally.hpp"

namespace tutti {

/// How far all-reduces that compress are from the exact result: the norm of the difference, as a
/// share of the norm of the result.
struct Loss {
    static constexpr int calls = 10;

    double of_one = -1;       ///< one all-reduce, the first ever; -1: nobody has looked
    double of_sum = 0;        ///< the sum of so many on the same gradients
    double union_share = -1;  ///< as CompressionTally has it, of the first
};

/// Of an operation of float32 sums or means that has not run yet, with numbers that are spread as
/// gradients are. Collective.
Loss loss_of(Operation& operation, World& world, const Call& call, const PooledBuffers& buffers,
             const CompressionTally& tally, std::uint64_t seed);

/// "bytes_saved" (share of what has to be sent), "compress_ms" (a step, of the slowest rank),
/// "error" if anybody looked; of topk also "error_10_steps" (of what 10 steps sent together) and
/// "union_share". Ranks that are in no compressed call take part with empty ones. Collective.
std::vector<Metric> metrics_of(World& world, const CompressionTally& tally, const Loss& loss,
                               std::int64_t steps);

}  // namespace tutti
