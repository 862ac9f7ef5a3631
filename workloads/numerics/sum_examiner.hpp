// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "collectives/execute/plan/plan.hpp"
#include "results/records/numerics.hpp"
#include "workloads/bench/buffer_pool.hpp"
#include "workloads/numerics/drawn_numbers.hpp"

namespace tutti {

/// Returns why the accuracy of such a call cannot be measured; none if it can.
std::optional<std::string> refuses_numerics(Collective collective, DataType type, Op op);

/// Measures the numerical accuracy of a reduction: on random numbers of each kind, the error of the
/// sums, and whether ranks and repeated calls get the same bits.
class SumExaminer {
public:
    /// The seed must be the same on all ranks.
    SumExaminer(World& world, std::uint64_t seed) : world_(world), seed_(seed) {}

    /// Does two calls for each kind of numbers, overwriting the buffers. Fills in all fields but
    /// session and key. Collective; the same result on all ranks.
    Numerics examine(Operation& operation, const Call& call, const PooledBuffers& buffers);

private:
    NumericsOfDraw examine(Operation& operation, const PooledBuffers& buffers, Draw draw) const;
    void fill(Draw draw, std::span<std::byte> input) const;
    double largest_error(Draw draw, std::span<const std::byte> output) const;
    void add_up_exactly(std::int64_t elements);

    World& world_;
    std::uint64_t seed_;
    Call call_;                // whose sums are stored
    std::int64_t stride_ = 1;  // examines every stride-th of this rank's elements
    std::array<std::vector<PreciseSum>, std::size(NamesOf<Draw>::rows)>
        sums_;  // for this call; empty: not computed yet
};

}  // namespace tutti
