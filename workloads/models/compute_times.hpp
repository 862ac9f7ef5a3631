// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "workloads/models/model.hpp"

namespace tutti {

/// Times of the computing in one step.
struct ComputeTimes {
    std::int64_t forward_ns = 0;
    std::int64_t backward_ns = 0;
    /// When each gradient is ready, in ready order: since the backward pass began, ascending, at
    /// most backward_ns.
    std::vector<std::int64_t> ready_ns;
};

/// Returns the times of a step that computes for `compute_ns` in total, by formula. The backward
/// pass takes twice as long as the forward pass, because it computes gradients of both inputs and
/// parameters. Within it a gradient is ready when its share of the flops and that of all earlier
/// ones is done. Throws Error for a negative time.
ComputeTimes step_times_by_formula(const Model& model, std::int64_t compute_ns);

/// Returns the times of one iteration of a trace: `ready_ns` in ready order, one for each of the
/// `parameters`. Medians of several steps may cross; a gradient then counts as ready with the
/// previous one. The backward pass ends no earlier than its last gradient. Throws Error for
/// negative times, and if their number is not that of the parameters.
ComputeTimes step_times_of_trace(std::size_t parameters, std::span<const std::int64_t> ready_ns,
                                 std::int64_t forward_ns, std::int64_t backward_ns);

/// Times of a unit (embedding, a block, head) in a step.
struct UnitTimes {
    std::int64_t forward_ns = 0;
    std::int64_t backward_ns = 0;
};

/// Returns the times of a step that computes for `compute_ns` in total, divided among the model's
/// units by their flops; backward takes twice as long as forward. The sum is exactly `compute_ns`.
/// Throws Error for a negative time.
std::vector<UnitTimes> unit_times(const Model& model, std::int64_t compute_ns);

}  // namespace tutti
