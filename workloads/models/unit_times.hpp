// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <vector>

#include "workloads/models/model.hpp"

namespace tutti {

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
