// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "workloads/models/model.hpp"

namespace tutti {

/// How one step's computing goes on.
struct ComputeTimes {
    std::int64_t forward_ns = 0;
    std::int64_t backward_ns = 0;
    /// Since the backward pass began; of the gradients in the model's ready order, never falling,
    /// at most backward_ns.
    std::vector<std::int64_t> ready_ns;
};

/// A step that computes for `compute_ns` in all: by formula. The backward pass takes twice as long
/// as the forward pass, because it computes gradients of both inputs and parameters; within it a
/// gradient is ready when its and all earlier ones' share of the flops is done.
/// Throws Error for a negative time.
ComputeTimes step_times_by_formula(const Model& model, std::int64_t compute_ns);

/// One iteration as a trace measured it: `ready_ns` in ready order, one for each of the
/// `parameters`. Medians of several steps may cross: a gradient then counts as ready with the one
/// ahead of it. The backward pass ends no earlier than its last gradient. Throws Error for negative
/// times, and where their number is not that of the parameters.
ComputeTimes step_times_of_trace(std::size_t parameters, std::span<const std::int64_t> ready_ns,
                                 std::int64_t forward_ns, std::int64_t backward_ns);

/// What a unit (embedding, a block, head) computes in a step.
struct UnitTimes {
    std::int64_t forward_ns = 0;
    std::int64_t backward_ns = 0;
};

/// A step that computes for `compute_ns` in all, shared out among the model's units by their flops;
/// backward takes twice as long as forward. The sum is `compute_ns` to the last ns. Throws Error
/// for a negative time.
std::vector<UnitTimes> unit_times(const Model& model, std::int64_t compute_ns);

}  // namespace tutti
