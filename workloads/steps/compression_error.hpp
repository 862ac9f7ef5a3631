// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <vector>

#include "base/index.hpp"
#include "results/records/step.hpp"
#include "workloads/bench/buffer_pool.hpp"
#include "workloads/steps/method.hpp"

namespace tutti {

/// The relative error of all-reduces that compress: the norm of the difference to the exact result
/// over the norm of the exact result.
struct CompressionError {
    static constexpr int calls = 10;

    double of_first_call = -1;  ///< -1: not measured
    double of_all_calls = 0;    ///< of the sum of `calls` results for the same gradients
    double union_share = -1;    ///< in the first call: see CompressionTally
};

/// Measures it for an operation of float32 sums or means that has not run yet, with numbers
/// distributed like gradients. Collective.
CompressionError compression_error(Operation& operation, World& world, const Call& call,
                                   const PooledBuffers& buffers, const CompressionTally& tally,
                                   std::uint64_t seed);

/// Returns "bytes_saved" (share of the bytes that must be sent), "compress_ms" (per step, on the
/// slowest rank), "error" if it was measured; for topk also "error_10_steps" (of the sum of 10
/// steps) and "union_share". Ranks without a compressed call pass empty ones. Collective.
std::vector<Metric> metrics_of(World& world, const CompressionTally& tally,
                               const CompressionError& error, std::int64_t steps);

/// Returns an element of numbers distributed like gradients of real networks: their largest percent
/// has half of the energy (35 to 58 % in real ones). They are cubes of normally distributed numbers
/// times 1/1000. Every rank can compute every rank's numbers.
inline float gradient_like(std::uint64_t seed, Rank rank, std::int64_t index) {
    std::uint64_t word = (seed * 0x9e3779b97f4a7c15u + static_cast<std::uint64_t>(rank.index)) *
                             0xd1342543de82ef95u +
                         static_cast<std::uint64_t>(index) * 0x9e3779b97f4a7c15u;
    // Steele, Lea & Flood 2014, twice; the sum of eight uniform numbers is close enough to normal.
    float sum = 0;
    for (int half = 0; half < 2; ++half) {
        word += 0x9e3779b97f4a7c15u;
        std::uint64_t mixed = word;
        mixed = (mixed ^ (mixed >> 30)) * 0xbf58476d1ce4e5b9u;
        mixed = (mixed ^ (mixed >> 27)) * 0x94d049bb133111ebu;
        mixed ^= mixed >> 31;
        for (int part = 0; part < 4; ++part)
            sum += static_cast<float>((mixed >> (16 * part)) & 0xffffu);
    }
    const float normal = (sum / 65536.F - 4) * 1.2247449F;  // their sum has the variance 8/12
    return normal * normal * normal * 1e-3F;
}

}  // namespace tutti
