// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "collectives/execute/plan/plan.hpp"
#include "results/records/numerics.hpp"
#include "workloads/bench/buffer_pool.hpp"
#include "workloads/numerics/exact_sum.hpp"

namespace tutti {

/// Why the numbers of such a call are not worth looking at; nothing if they are.
std::optional<std::string> refuses_numerics(Collective collective, DataType type, Op op);

/// Finds out what the sums of a reduction are worth: on random numbers of each kind, how far they
/// are from the exact ones, and whether ranks and repeated calls get the same bits.
class SumExaminer {
public:
    /// The same seed on all ranks.
    SumExaminer(World& world, std::uint64_t seed) : world_(world), seed_(seed) {}

    /// Two calls for each kind of numbers; overwrites the buffers. All fields but session and key.
    /// Collective; the same result on all ranks.
    Numerics examine(Operation& operation, const Call& call, const PooledBuffers& buffers);

private:
    NumericsOfDraw examine(Operation& operation, const PooledBuffers& buffers, Draw draw) const;
    void fill(Draw draw, std::span<std::byte> input) const;
    double largest_error(Draw draw, std::span<const std::byte> output) const;
    void add_up_exactly(std::int64_t elements);

    World& world_;
    std::uint64_t seed_;
    Call call_;                // that the sums are of
    std::int64_t stride_ = 1;  // of this rank's elements, every so many-th is looked at
    std::array<std::vector<PreciseSum>, std::size(NamesOf<Draw>::rows)>
        sums_;  // of these; empty: of no call yet
};

}  // namespace tutti
